#include "serve/access.h"

#include <algorithm>
#include <string_view>

namespace cli::serve {
namespace {

/// In a time that the place of the first wrong byte does not change.
bool same_key(std::string_view given, std::string_view key) {
  unsigned different = given.size() == key.size() ? 0 : 1;
  for (std::size_t i = 0; i < key.size(); ++i) different |= static_cast<unsigned char>(key[i]) ^ static_cast<unsigned char>(i < given.size() ? given[i] : 0);
  return different == 0;
}

/// Without the port.
std::string_view host_of(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  return colon != std::string_view::npos && authority.back() != ']' ? authority.substr(0, colon) : authority;
}

bool is_this_machine(std::string_view host) { return host == "localhost" || host == "[::1]" || host.starts_with("127."); }

}  // namespace

bool Access::has_key(const HttpRequest& request) const {
  constexpr std::string_view scheme = "bearer ";
  if (keys.empty()) return true;
  const auto same_letter = [](char given, char letter) { return given == letter || (given | 32) == letter; };
  if (!std::ranges::equal(request.authorization.substr(0, scheme.size()), scheme, same_letter)) return false;
  const std::string_view given = std::string_view(request.authorization).substr(scheme.size());
  bool found = false;
  for (const std::string& key : keys) found |= same_key(given, key);
  return found;
}

// A browser sends along which page asks. That of another site may not: it could ask whatever the person at the browser could.
bool Access::origin_may_ask(const HttpRequest& request) const {
  const std::string_view origin = request.origin;
  if (origin.empty() || cors_origin == "*" || origin == cors_origin) return true;
  const std::size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && origin.substr(scheme + 3) == request.host;
}

// Any name can be made to lead to this machine, also that of a page that asks ("DNS rebinding"): without keys it has to be one of the machine's own.
bool Access::host_may_be_asked(const HttpRequest& request) const {
  return request.host.empty() || !keys.empty() || everybody || is_this_machine(host_of(request.host));
}

}  // namespace cli::serve
