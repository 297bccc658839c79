// Checks of a request's header before its body is read: framing that two readers could understand differently is refused, since one's
// body may be the other's next request (request smuggling; RFC 9112, sections 3.2, 6.1 and 11.2).
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cli::serve {

/// Whether bytes can be the prefix of a request: a method and its separator.
bool may_begin_request(std::string_view bytes);

struct HeadFault {
  unsigned status;
  std::string_view sentence;
};

/// Nullopt if the server accepts the header. `bytes`: the header as it was sent, with the line end of its last line.
std::optional<HeadFault> fault_of(std::string_view bytes, const boost::beast::http::header<true>& head);

struct Authority {
  std::string_view host, port;  ///< host: IPv6 addresses in brackets; port: "" if none is given
};

/// "HOST", "HOST:PORT", "[ADDRESS]:PORT" (RFC 3986, section 3.2, without a user name); nullopt for other texts.
std::optional<Authority> parse_authority(std::string_view text);

/// The target in the line that a request begins with, as far as it has arrived.
std::string_view target_of(std::string_view bytes);

/// The part of a target that names a route: without a proxy's scheme and authority (RFC 9112, section 3.2.2), and without the query.
std::string path_of(std::string_view target);

/// The authority of a request: its target's if it has one, else its Host (RFC 9112, section 3.2.2).
std::string authority_of(const boost::beast::http::header<true>& head);

}  // namespace cli::serve
