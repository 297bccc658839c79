#include "prompt.h"

#include <fmt/format.h>

#include <array>
#include <system_error>

#include "base/platform/console.h"
#include "base/platform/files.h"
#include "exit_code.h"
#include "interrupt.h"

namespace cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20U;

}  // namespace

std::string read_text(const std::string& file, const std::string& what) {
  namespace platform = skipstone::platform;
  const std::string name = file == "-" ? "standard input" : "'" + file + "'";
  std::error_code error;
  const auto refuse = [&] { fail(ExitCode::usage, "{} in {} cannot be read: {}", what, name, error.message()); };
  platform::OpenFile opened;
  if (file != "-") opened = platform::open_stream(file, error);
  if (error) refuse();
  const std::intptr_t stream = file == "-" ? platform::handle_of(platform::Stream::input) : opened.handle();
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const std::size_t got = platform::read_next(stream, buffer, error);
    if (interrupt::requested()) fail(ExitCode::interrupted, "interrupted while {} was being read", what);
    if (error == std::errc::interrupted) continue;
    if (error) refuse();
    if (got == 0) break;
    text.append(buffer.data(), got);
    if (text.size() > most_bytes) {
      fail(ExitCode::usage, "{} in {} is larger than {} MiB; no context holds it", what, name, most_bytes >> 20U);
    }
  }
  return text;
}

std::string read_prompt(const std::string& file) {
  std::string text = read_text(file, "the prompt");
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty() && text.back() == '\r') text.pop_back();
  return text;
}

}  // namespace cli
