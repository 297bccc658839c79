// Who may ask a server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/http_server.h"

namespace cli::serve {

struct Access {
  std::vector<std::string> keys;  ///< none: everybody may ask
  bool everybody = false;         ///< may ask, whatever name of this machine they use
  std::string cors_origin;        ///< pages of this origin may ask; "" for none, "*" for all

  /// Whether the request has one of the keys, where there are any.
  bool has_key(const HttpRequest& request) const;
  bool origin_may_ask(const HttpRequest& request) const;
  bool host_may_be_asked(const HttpRequest& request) const;
};

/// Whether a host, without a port, is this machine whatever any name server says: an address of its loopback network or "localhost" (RFC 6761,
/// section 6.3). IPv6 addresses may be in brackets.
bool is_loopback(std::string_view host);

}  // namespace cli::serve
