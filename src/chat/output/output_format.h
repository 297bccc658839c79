// How families of models mark reasoning and tool calls in their output. A family is a row.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace skipstone::chat {

/// A pair of tags.
struct Tags {
  std::string_view open, close;
};

/// The syntax of a call.
enum class CallSyntax {
  none,
  json,      ///< JSON after `section.open`: {"name", "arguments"}, or a list of such objects
  named,     ///< call_open NAME [id_open ID] arguments_open {JSON} arguments_close call_close
  tagged,    ///< call_open NAME name_close (key_open KEY key_close value_open VALUE value_close)* call_close
  channels,  ///< messages whose headers say for whom they are (harmony)
};

struct OutputFormat {
  std::string_view name;
  CallSyntax syntax = CallSyntax::none;
  std::array<Tags, 2> reasoning = {};  ///< alternatives, at the very start of an answer
  Tags content = {};                   ///< around the text itself; no part of it
  Tags section = {};                   ///< around the call, or around several

  std::string_view call_open = {}, call_close = {};
  std::string_view id_open = {}, arguments_open = {}, arguments_close = {};
  std::string_view name_prefix = {};  ///< not part of a name
  bool id_is_last = false;            ///< of an object's members; so a call cannot begin before it is whole
  bool name_is_id = false;            ///< "functions.NAME:INDEX" is the call's id
  bool id_is_index = false;           ///< an id counts the calls; the template does so itself
  std::string_view name_close = {}, key_open = {}, key_close = {}, value_open = {}, value_close = {};
  bool value_on_lines = false;  ///< one line end after value_open and one before value_close are the format's

  bool bare = false;                  ///< a whole answer that is calls and nothing else needs no mark
  std::string_view bare_prefix = {};  ///< may precede such an answer
  bool python = false;                ///< [name(key=value)] may replace JSON
  unsigned id_length = 0;             ///< letters and digits of an id that is made up; 0: "call_" and 24 of them

  std::array<std::string_view, 2> in_template = {};  ///< texts that a chat template for this format holds, all of them
};

/// All rows; the last is "plain", which has no calls.
const std::vector<OutputFormat>& output_formats();

/// The row of that name; null if unknown.
const OutputFormat* find_output_format(std::string_view name);

/// The row that a chat template's text asks for.
const OutputFormat& detect_output_format(std::string_view chat_template);

}  // namespace skipstone::chat
