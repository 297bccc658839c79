// What the header of a request has to be before its body is read: framing that two readers could understand differently is refused, since what
// one of them takes for a body may be the next request of the other (request smuggling; RFC 9112, sections 3.2, 6.1 and 11.2).
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cli::serve {

struct HeadFault {
  unsigned status;
  std::string_view sentence;
};

/// Nothing where the header is one that the server takes.
std::optional<HeadFault> fault_of(const boost::beast::http::header<true>& head);

/// The part of a target that names a route: without a proxy's scheme and authority (RFC 9112, section 3.2.2), and without the query.
std::string path_of(std::string_view target);

/// The authority that a request is for: that of its target where it has one, else its Host (RFC 9112, section 3.2.2).
std::string authority_of(const boost::beast::http::header<true>& head);

}  // namespace cli::serve
