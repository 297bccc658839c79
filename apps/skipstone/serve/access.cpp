#include "serve/access.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "serve/http/head.h"

namespace cli::serve {
namespace {

/// Compares in a time that is independent of the first wrong byte's position.
bool same_key(std::string_view given, std::string_view key) {
  unsigned different = given.size() == key.size() ? 0 : 1;
  for (std::size_t i = 0; i < key.size(); ++i)
    different |= static_cast<unsigned char>(key[i]) ^ static_cast<unsigned char>(i < given.size() ? given[i] : 0);
  return different == 0;
}

/// Whether a text is a valid port number or empty.
bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  return text.empty() || std::from_chars(text.data(), text.data() + text.size(), port).ec == std::errc();
}

bool same_letters(std::string_view one, std::string_view other) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; };
  return std::ranges::equal(one, other, {}, lower, lower);
}

}  // namespace

// OpenAI's clients send a key as RFC 6750 has it, Anthropic's in a header of their own.
bool Access::has_key(const HttpRequest& request) const {
  constexpr std::string_view scheme = "bearer ";
  if (keys.empty()) return true;
  const auto same_letter = [](char given, char letter) { return given == letter || (given | 32) == letter; };
  const bool bearer = std::ranges::equal(request.authorization.substr(0, scheme.size()), scheme, same_letter);
  const std::string_view given = bearer ? std::string_view(request.authorization).substr(scheme.size()) : std::string_view();
  bool found = false;
  for (const std::string& key : keys) {
    found |= same_key(request.api_key, key);
    if (bearer) found |= same_key(given, key);
  }
  return found;
}

// A browser sends the origin of the requesting page. Pages of other sites are refused: they could do whatever the browser's user can.
// Scheme, host and port make an origin (RFC 6454); this server's scheme is http.
bool Access::origin_may_ask(const HttpRequest& request) const {
  constexpr std::string_view scheme = "http://";
  const std::string_view origin = request.origin;
  if (origin.empty() || cors_origin == "*" || origin == cors_origin) return true;
  if (!origin.starts_with(scheme)) return false;
  const auto page = parse_authority(origin.substr(scheme.size())), asked = parse_authority(request.host);
  const auto port_of = [](const Authority& authority) { return authority.port.empty() ? std::string_view("80") : authority.port; };
  return page && asked && same_letters(page->host, asked->host) && port_of(*page) == port_of(*asked);
}

// Any name can be made to resolve to this machine, also a page's ("DNS rebinding"): without keys the host must be a loopback name.
bool Access::host_may_be_asked(const HttpRequest& request) const {
  if (request.host.empty() || !keys.empty() || everybody) return true;
  const auto authority = parse_authority(request.host);
  return authority && is_port(authority->port) && is_loopback(authority->host);
}

Headers Access::cors_headers() const {
  if (cors_origin.empty()) return {};
  // The wildcard is for headers to come; browsers before 2022 know names alone.
  return {{"Access-Control-Allow-Origin", cors_origin}, {"Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate, Allow, *"}};
}

HttpReply Access::for_pages(HttpReply reply) const {
  for (auto& header : cors_headers()) reply.headers.push_back(std::move(header));
  return reply;
}

// Clients send headers of their own (x-stainless-*, OpenAI-Beta). A page of the origin may send any request, so naming headers protects
// nothing. https://fetch.spec.whatwg.org/#http-cors-protocol, https://wicg.github.io/private-network-access/
HttpReply Access::answer_preflight(const Preflight& asked) const {
  constexpr std::string_view names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~, ";
  const bool names_headers = !asked.headers.empty() && asked.headers.find_first_not_of(names) == std::string::npos;
  HttpReply reply{204, "application/json", "", {}};
  reply.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST");
  reply.headers.emplace_back("Access-Control-Allow-Headers", names_headers ? asked.headers : "Authorization, Content-Type");
  if (asked.private_network) reply.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  reply.headers.emplace_back("Access-Control-Max-Age", "600");
  reply.headers.emplace_back("Vary", "Access-Control-Request-Headers, Access-Control-Request-Private-Network");
  return reply;
}

bool is_loopback(std::string_view host) {
  if (same_letters(host, "localhost") || same_letters(host, "localhost.")) return true;
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  if (error || (bracketed && address.is_v4())) return false;
  if (address.is_v4()) return address.to_v4().is_loopback();
  const auto v6 = address.to_v6();
  return v6.is_loopback() || (v6.is_v4_mapped() && boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, v6).is_loopback());
}

}  // namespace cli::serve
