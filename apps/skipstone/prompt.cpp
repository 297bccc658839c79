#include "prompt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "exit_code.h"
#include "interrupt.h"

namespace cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20U;

class Descriptor {
 public:
  explicit Descriptor(const std::string& file) : number_(file == "-" ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ > STDIN_FILENO) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

std::string read_text(const std::string& file, const std::string& what) {
  const std::string name = file == "-" ? "standard input" : "'" + file + "'";
  const auto refuse = [&] { fail(ExitCode::usage, "{} in {} cannot be read: {}", what, name, std::strerror(errno)); };
  const Descriptor descriptor(file);
  if (descriptor.number() < 0) refuse();
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t got = read(descriptor.number(), buffer.data(), buffer.size());
    if (interrupt::requested()) fail(ExitCode::interrupted, "interrupted while {} was being read", what);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse();
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
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
