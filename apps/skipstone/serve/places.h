// Places in a client's request, for errors about what the library was given in another form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli::serve {

/// Where the calls and tools of a conversation come from, if the request has them in another order than the library. The server has checked
/// all other parts of such a conversation itself.
struct Places {
  std::vector<std::uint32_t> first_calls;  ///< of each message its first call in `calls`
  std::vector<std::uint32_t> calls;        ///< of each call its item of 'input'
  std::vector<std::uint32_t> tools;        ///< of each function its place in the client's list

  std::size_t bytes() const { return (first_calls.size() + calls.size() + tools.size()) * sizeof(std::uint32_t); }

  /// The client's place of the library's: "messages[2].tool_calls[0].function.arguments" may be "input[4].arguments", and "options" are
  /// "chat_template_kwargs". `conversation`: the client's field for the messages, which is the place of what has none of its own.
  std::string in_request(std::string_view place, std::string_view conversation) const;
};

}  // namespace cli::serve
