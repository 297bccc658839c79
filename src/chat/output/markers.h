// Finds marks in a text that is still being written, and reads the header of a message in harmony's format.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace skipstone::chat {

inline constexpr std::string_view blanks = " \t\r\n";

struct FoundMarker {
  std::size_t at = std::string_view::npos;
  std::string_view marker;
};

/// The first of `markers` in `text`, the longest where several begin at one place. Empty ones are ignored.
FoundMarker find_marker(std::string_view text, std::span<const std::string_view> markers);

/// The bytes at the end of `text` that could still become one of `markers`, or are an unfinished UTF-8 character.
std::size_t undecided_bytes(std::string_view text, std::span<const std::string_view> markers);

/// Bytes of an unfinished UTF-8 character at the end of `text`.
std::size_t unfinished_character(std::string_view text);

enum class Match { no, yes, undecided };

/// Whether `text` begins with `marker`; undecided where `text` is a part of it and continues.
Match match(std::string_view text, std::string_view marker, bool ended);

/// Bytes of blanks at the front.
std::size_t leading_blanks(std::string_view text);

std::string_view without_blanks_at_end(std::string_view text);

/// Whether `byte` can be part of a tool's name.
bool is_name_byte(char byte);

// ---- the header of a message in harmony's format ----

// [<|start|>assistant][ to=RECIPIENT]<|channel|>NAME[ to=RECIPIENT][<|constrain|>TYPE]<|message|>.

inline constexpr std::string_view message_start = "<|start|>", message_channel = "<|channel|>", message_body = "<|message|>";
inline constexpr std::array<std::string_view, 3> message_ends = {"<|end|>", "<|return|>", "<|call|>"};
/// An answer begins after "<|start|>assistant", which the prompt has written.
inline constexpr std::string_view reasoning_header = "<|channel|>analysis<|message|>", answer_header = "<|channel|>final<|message|>";
inline constexpr std::string_view after_reasoning = "<|end|><|start|>assistant";
inline constexpr std::string_view message_recipient = "to=";
inline constexpr std::size_t longest_header = 512;  ///< bytes

struct ChannelHeader {
  std::string channel, recipient;  ///< "" if absent
};

/// `text`: the part in front of `message_body`.
ChannelHeader read_channel_header(std::string_view text);

}  // namespace skipstone::chat
