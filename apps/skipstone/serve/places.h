// Places in a client's request, for errors about what the library was given in another form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli::serve {

/// Where the messages, calls and tools of a conversation come from, if the request has them in another order than the library.
struct Places {
  static constexpr std::uint32_t instructions = UINT32_MAX;  ///< in the place of an item: the message is 'instructions'

  std::vector<std::pair<std::uint32_t, std::uint32_t>> messages;  ///< of each one its item of 'input', and its first call in `calls`
  std::vector<std::uint32_t> calls;                               ///< of each call its item of 'input'
  std::vector<std::uint32_t> tools;                               ///< of each function its place in the client's list

  std::size_t bytes() const { return (messages.size() * 2 + calls.size() + tools.size()) * sizeof(std::uint32_t); }

  /// The client's place of the library's: "messages[2].tool_calls[0].function.arguments" may be "input[4].arguments", and "options" are
  /// "chat_template_kwargs". `conversation`: the client's field for the messages.
  std::string in_request(std::string_view place, std::string_view conversation) const;
};

}  // namespace cli::serve
