// What the header of a request has to be before its body is read: framing that two readers could understand differently is refused, since what
// one of them takes for a body may be the next request of the other (request smuggling; RFC 9112, sections 3.2, 6.1 and 11.2).
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cli::serve {

/// Whether bytes can be the beginning of a request: a method, and what comes after it.
bool may_begin_request(std::string_view bytes);

struct HeadFault {
  unsigned status;
  std::string_view sentence;
};

/// Nothing where the header is one that the server takes. `bytes`: as it was sent, with the line end of its last line.
std::optional<HeadFault> fault_of(std::string_view bytes, const boost::beast::http::header<true>& head);

struct Authority {
  std::string_view host, port;  ///< host: addresses of IPv6 in brackets; port: "" where none is given
};

/// "HOST", "HOST:PORT", "[ADDRESS]:PORT" (RFC 3986, section 3.2, without the name of a user); nothing where a text is none of these.
std::optional<Authority> parse_authority(std::string_view text);

/// The part of a target that names a route: without a proxy's scheme and authority (RFC 9112, section 3.2.2), and without the query.
std::string path_of(std::string_view target);

/// The authority that a request is for: that of its target where it has one, else its Host (RFC 9112, section 3.2.2).
std::string authority_of(const boost::beast::http::header<true>& head);

}  // namespace cli::serve
