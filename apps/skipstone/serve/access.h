// Access control: the requests that a server accepts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/http/server.h"

namespace cli::serve {

struct Access {
  std::vector<std::string> keys;  ///< none: open to all clients
  bool everybody = false;         ///< accepts requests without a key under any host name
  std::string cors_origin;        ///< pages of this origin may send requests; "" for none, "*" for all

  /// Whether the request has one of the keys, if there are any.
  bool has_key(const HttpRequest& request) const;
  bool origin_may_ask(const HttpRequest& request) const;
  bool host_may_be_asked(const HttpRequest& request) const;
  /// Headers of every answer, for the pages of `cors_origin`; empty if there are none.
  Headers cors_headers() const;
  /// `reply` with these.
  HttpReply for_pages(HttpReply reply) const;
  /// The answer to a browser's preflight request, without these: pages of `cors_origin` may send what they ask for.
  HttpReply answer_preflight(const Preflight& asked) const;
};

/// Whether a host, without a port, is this machine regardless of DNS: a loopback address or "localhost" (RFC 6761,
/// section 6.3). IPv6 addresses may be in brackets.
bool is_loopback(std::string_view host);

}  // namespace cli::serve
