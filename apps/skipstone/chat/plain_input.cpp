#include <array>
#include <system_error>

#include "base/platform/console.h"
#include "base/platform/files.h"
#include "chat/line_input.h"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli::chat {
namespace {

namespace platform = skipstone::platform;
using platform::Stream;

constexpr std::size_t longest_line = 64 << 20;  // bytes; larger than any context

class PlainInput : public LineInput {
 public:
  Line read(const std::string& prompt) override {
    if (platform::is_terminal(Stream::input) && platform::is_terminal(Stream::output)) Output(false).write(prompt);
    for (;;) {
      const std::size_t end = held_.find('\n', searched_);
      if (end != std::string::npos) return take(end, 1);
      searched_ = held_.size();
      if (ended_) return held_.empty() ? Line{} : take(held_.size(), 0);
      if (interrupt::terminated()) return {};
      if (interrupt::take()) {
        Line line{.kind = Line::Kind::interrupt, .was_empty = held_.empty()};
        held_.clear();
        searched_ = 0;
        return line;
      }
      if (interrupt::wait_for_input()) {
        fill();
      } else {
        interrupt::take_resized();
      }
    }
  }

 private:
  Line take(std::size_t end, std::size_t line_end) {
    std::string text = held_.substr(0, end);
    held_.erase(0, end + line_end);
    searched_ = 0;
    if (text.ends_with('\r')) text.pop_back();
    return {.kind = Line::Kind::text, .text = std::move(text)};
  }

  void fill() {
    std::array<char, 4096> block;
    std::error_code error;
    const std::size_t bytes = platform::read_next(platform::handle_of(Stream::input), block, error);
    if (bytes > 0) {
      held_.append(block.data(), bytes);
      if (held_.size() > longest_line) fail(ExitCode::usage, "a line of standard input is longer than 64 MiB; no context holds it");
    } else if (!error) {
      ended_ = true;
    } else if (error != std::errc::interrupted) {
      fail(ExitCode::failure, "standard input cannot be read: {}", error.message());
    }
  }

  std::string held_;
  std::size_t searched_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<LineInput> open_plain_input() { return std::make_unique<PlainInput>(); }

#ifndef SKIPSTONE_LINE_EDITOR
std::unique_ptr<LineInput> open_line_editor(const std::string&) { return nullptr; }
#endif

}  // namespace cli::chat
