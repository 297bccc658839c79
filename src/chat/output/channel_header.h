// The header of a message in harmony's format: [<|start|>assistant][ to=RECIPIENT]<|channel|>NAME[
// to=RECIPIENT][<|constrain|>TYPE]<|message|>.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace skipstone::chat {

inline constexpr std::string_view message_start = "<|start|>", message_channel = "<|channel|>", message_body = "<|message|>";
inline constexpr std::array<std::string_view, 3> message_ends = {"<|end|>", "<|return|>", "<|call|>"};
inline constexpr std::string_view message_recipient = "to=";
inline constexpr std::size_t longest_header = 512;  ///< bytes

struct ChannelHeader {
  std::string channel, recipient;  ///< "" if absent
};

/// `text`: the part in front of `message_body`.
ChannelHeader read_channel_header(std::string_view text);

}  // namespace skipstone::chat
