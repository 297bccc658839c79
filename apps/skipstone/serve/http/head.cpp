#include "serve/http/head.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>

namespace cli::serve {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

/// The authority of a target in absolute form; nullopt for other targets.
std::optional<std::string_view> authority_in(std::string_view target) {
  constexpr std::string_view scheme = "http://";
  if (target.size() < scheme.size() ||
      !beast::iequals(beast::string_view(target.data(), scheme.size()), beast::string_view(scheme.data(), scheme.size())))
    return std::nullopt;
  target.remove_prefix(scheme.size());
  return target.substr(0, target.find_first_of("/?"));
}

constexpr std::string_view digits = "0123456789",
                           name_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+,;=";

bool has_only(std::string_view text, std::string_view characters) { return text.find_first_not_of(characters) == std::string_view::npos; }

/// Whether a field's value continues in the next line, which readers interpret differently (RFC 9112, section 5.2).
bool is_folded(std::string_view bytes) {
  return bytes.find("\r\n ") != std::string_view::npos || bytes.find("\r\n\t") != std::string_view::npos;
}

bool names_its_host(const http::header<true>& head) {
  const auto of_target = authority_in(view_of(head.target()));
  if (of_target) {
    const auto authority = parse_authority(*of_target);
    if (!authority || authority->host.empty()) return false;
  }
  return parse_authority(view_of(head[http::field::host])).has_value();
}

}  // namespace

bool may_begin_request(std::string_view bytes) {
  constexpr std::string_view token =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";  // RFC 9110, section 5.6.2
  constexpr std::size_t longest_method = 32;
  const std::size_t end = bytes.find_first_not_of(token);
  if (end == std::string_view::npos) return bytes.size() <= longest_method;
  return end > 0 && end <= longest_method && bytes[end] == ' ';
}

std::optional<Authority> parse_authority(std::string_view text) {
  Authority authority;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    authority.host = text.substr(0, end + 1);
    const std::string_view address = text.substr(1, end - 1);
    if (address.empty() || address.find_first_not_of(":.0123456789abcdefABCDEF") != std::string_view::npos) return std::nullopt;
  } else {
    authority.host = text.substr(0, text.find(':'));
    if (!has_only(authority.host, name_characters)) return std::nullopt;
  }
  const std::string_view rest = text.substr(authority.host.size());
  if (rest.empty()) return authority;
  authority.port = rest.substr(1);
  if (rest[0] != ':' || !has_only(authority.port, digits)) return std::nullopt;
  return authority;
}

std::optional<HeadFault> fault_of(std::string_view bytes, const http::header<true>& head) {
  if (is_folded(bytes)) return HeadFault{400, "a field of the header continues in the next line"};
  const bool version_1_1 = head.version() >= 11;
  const std::size_t codings = head.count(http::field::transfer_encoding);
  if (codings > 0) {
    if (!version_1_1) return HeadFault{400, "HTTP/1.0 has no transfer codings"};
    if (head.count(http::field::content_length) > 0) return HeadFault{400, "a request has a Content-Length or a transfer coding, not both"};
    if (codings > 1 || !beast::iequals(head[http::field::transfer_encoding], "chunked"))
      return HeadFault{501, "'chunked' alone is built of the transfer codings"};
  }
  if (head.count(http::field::content_length) > 1 || !has_only(view_of(head[http::field::content_length]), digits))
    return HeadFault{400, "a request has one Content-Length, of digits"};
  const std::size_t hosts = head.count(http::field::host);
  if (hosts > 1 || (version_1_1 && hosts == 0)) return HeadFault{400, "a request has one Host"};
  if (!names_its_host(head)) return HeadFault{400, "the Host is no name or address with a port"};
  const std::size_t expectations = head.count(http::field::expect);
  if (version_1_1 && (expectations > 1 || (expectations == 1 && !beast::iequals(head[http::field::expect], "100-continue"))))
    return HeadFault{417, "'100-continue' alone is built of what a client may expect"};
  return std::nullopt;
}

std::string_view target_of(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
  const std::size_t begin = std::min(line.find(' '), line.size() - 1) + 1;
  return line.substr(begin, line.find(' ', begin) - begin);
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
