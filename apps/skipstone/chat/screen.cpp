#include "chat/screen.h"

#include <fmt/format.h>

#include "base/escape.h"
#include "base/platform/console.h"

namespace cli::chat {

namespace platform = skipstone::platform;

Screen::Screen(const std::string& colour)
    : terminal_(platform::is_terminal(platform::Stream::output)),
      colour_(wants_colour(colour)),
      dim_status_(colour_ && platform::is_terminal(platform::Stream::error)),
      output_(colour_) {}

/// Begins a part on a new line. Without colours reasoning is labelled.
bool Screen::begin(Part part) {
  if (part_ == part && part != Part::call) return true;
  if (line_begun_) output_.write("\n");
  line_begun_ = false;
  part_ = part;
  return part != Part::reasoning || colour_ || output_.write("[reasoning] ");
}

bool Screen::text(std::string_view piece, bool drafted) {
  if (piece.empty()) return !output_.closed();
  begin(Part::text);
  line_begun_ = !piece.ends_with('\n');
  return output_.write(piece, drafted ? Style::green : Style::plain);
}

bool Screen::reasoning(std::string_view piece) {
  if (piece.empty()) return !output_.closed();
  begin(Part::reasoning);
  line_begun_ = !piece.ends_with('\n');
  return output_.write(piece, Style::dim);
}

bool Screen::begin_call(std::string_view name) {
  begin(Part::call);
  line_begun_ = true;
  return output_.write(fmt::format("[call {}(", name), Style::dim);
}

bool Screen::call_arguments(std::string_view json) { return output_.write(json, Style::dim); }
bool Screen::end_call() { return output_.write(")]", Style::dim); }

void Screen::end_answer() {
  if (line_begun_) output_.write("\n");
  output_.plain();
  line_begun_ = false;
  part_ = Part::none;
}

void Screen::status(const std::string& line) {
  if (dim_status_) {
    write_error("\033[0;2m" + skipstone::message_text(line) + "\033[0m\n");
  } else {
    note(line);
  }
}

void Screen::control(std::string_view sequence) {
  if (terminal_) write_sequence(sequence);
}

}  // namespace cli::chat
