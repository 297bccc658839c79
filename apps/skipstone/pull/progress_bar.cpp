#include "pull/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "base/platform/console.h"
#include "terminal/output.h"

namespace cli::pull {
namespace {

namespace platform = skipstone::platform;
using platform::Stream;

std::string time_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::min(seconds, 359999.0));
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

ProgressBar::ProgressBar(std::string name, std::uint64_t total, std::uint64_t done)
    : name_(std::move(name)),
      total_(std::max<std::uint64_t>(total, 1)),
      first_(done),
      terminal_(platform::has_control_sequences(Stream::error)),
      tenth_(done * 10 / total_) {
  const std::string so_far = done > 0 ? fmt::format(", {} of them are there", bytes_text(static_cast<double>(done))) : "";
  note("Fetching {} ({}{})", name_, bytes_text(static_cast<double>(total)), so_far);
}

ProgressBar::~ProgressBar() {
  if (shown_) write_error("\r\033[K");
}

void ProgressBar::draw(std::uint64_t done, double seconds) const {
  const double share = static_cast<double>(done) / static_cast<double>(total_);
  const double speed = done > first_ && seconds > 0 ? static_cast<double>(done - first_) / seconds : 0;
  const std::string left = speed > 0 ? time_text(static_cast<double>(total_ - std::min(done, total_)) / speed) : "-:--";
  const std::string numbers = fmt::format(" {:3.0f} %  {}/s  {}", 100 * share, bytes_text(speed), left);
  // A line that wraps could not be erased.
  const std::size_t told = platform::columns(Stream::error), columns = told > 0 ? told : 80;
  constexpr std::size_t longest_bar = 40;
  const std::size_t room = columns > numbers.size() + 4 ? columns - numbers.size() - 4 : 0, bar = std::min(room, longest_bar);
  const auto full = std::min(bar, static_cast<std::size_t>(share * static_cast<double>(bar)));
  write_error(fmt::format("\r\033[K[{}{}]{}", std::string(full, '#'), std::string(bar - full, '-'), numbers.substr(0, columns - 3)));
}

void ProgressBar::update(std::uint64_t done) {
  const auto now = Clock::now();
  if (!terminal_) {
    const std::uint64_t tenth = done * 10 / total_;
    if (tenth > tenth_ && now - start_ > std::chrono::seconds(2)) note("{} %", tenth * 10);
    tenth_ = std::max(tenth_, tenth);
    return;
  }
  if (shown_ && now - last_ < std::chrono::milliseconds(200) && done < total_) return;
  last_ = now;
  shown_ = true;
  draw(done, std::chrono::duration<double>(now - start_).count());
}

}  // namespace cli::pull
