#include "serve/http_head.h"

#include <boost/beast/core/string.hpp>
#include <iterator>

namespace cli::serve {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

std::size_t count(const http::header<true>& head, http::field name) { return head.count(name); }

/// The authority of a target in absolute form; nothing in other targets.
std::optional<std::string_view> authority_in(std::string_view target) {
  constexpr std::string_view scheme = "http://";
  if (target.size() < scheme.size() || !beast::iequals(beast::string_view(target.data(), scheme.size()), "http://")) return std::nullopt;
  target.remove_prefix(scheme.size());
  return target.substr(0, target.find_first_of("/?"));
}

/// Letters, digits and what else an authority may have: no blank, no list, no name of a user (RFC 9110, section 7.2).
bool is_authority(std::string_view text) {
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+;=:[]") == std::string_view::npos;
}

}  // namespace

std::optional<HeadFault> fault_of(const http::header<true>& head) {
  const bool version_1_1 = head.version() >= 11;
  const std::size_t codings = count(head, http::field::transfer_encoding);
  if (codings > 0) {
    if (!version_1_1) return HeadFault{400, "HTTP/1.0 has no transfer codings"};
    if (count(head, http::field::content_length) > 0) return HeadFault{400, "a request has a Content-Length or a transfer coding, not both"};
    if (codings > 1 || !beast::iequals(head[http::field::transfer_encoding], "chunked"))
      return HeadFault{501, "'chunked' alone is built of the transfer codings"};
  }
  if (count(head, http::field::content_length) > 1) return HeadFault{400, "a request has one Content-Length"};
  const std::size_t hosts = count(head, http::field::host);
  if (hosts > 1 || (version_1_1 && hosts == 0)) return HeadFault{400, "a request has one Host"};
  if (!is_authority(authority_of(head)) || !is_authority(view_of(head[http::field::host])))
    return HeadFault{400, "the Host is no name or address with a port"};
  const std::size_t expectations = count(head, http::field::expect);
  if (version_1_1 && (expectations > 1 || (expectations == 1 && !beast::iequals(head[http::field::expect], "100-continue"))))
    return HeadFault{417, "'100-continue' alone is built of what a client may expect"};
  return std::nullopt;
}

std::string path_of(std::string_view target) {
  if (const auto authority = authority_in(target)) {
    target.remove_prefix(static_cast<std::size_t>(authority->data() - target.data()) + authority->size());
    if (!target.starts_with('/')) return "/";
  }
  return std::string(target.substr(0, target.find('?')));
}

std::string authority_of(const http::header<true>& head) {
  const auto of_target = authority_in(view_of(head.target()));
  return std::string(of_target ? *of_target : view_of(head[http::field::host]));
}

}  // namespace cli::serve
