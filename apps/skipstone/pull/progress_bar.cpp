#include "pull/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/platform/console.h"

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

ProgressBar::ProgressBar(const std::string& name, std::uint64_t total, std::uint64_t done)
    : total_(std::max<std::uint64_t>(total, 1)),
      first_(done),
      terminal_(platform::has_control_sequences(Stream::error)),
      tenth_(done * 10 / total_) {
  const std::string so_far = done > 0 ? fmt::format(", {} of them are there", bytes_text(static_cast<double>(done))) : "";
  note("Fetching {} ({}{})", name, bytes_text(static_cast<double>(total)), so_far);
}

void ProgressBar::draw(std::uint64_t done, double seconds) {
  const double share = static_cast<double>(done) / static_cast<double>(total_);
  const double speed = done > first_ && seconds > 0 ? static_cast<double>(done - first_) / seconds : 0;
  const std::string left = speed > 0 ? time_text(static_cast<double>(total_ - std::min(done, total_)) / speed) : "-:--";
  const std::string numbers = fmt::format(" {:3.0f} %  {}/s  {}", 100 * share, bytes_text(speed), left);
  constexpr std::size_t brackets = 2, longest_bar = 40;
  const std::size_t room = ErasableLine::columns(), taken = numbers.size() + brackets;
  const std::size_t bar = room > taken ? std::min(room - taken, longest_bar) : 0;
  const auto full = std::min(bar, static_cast<std::size_t>(share * static_cast<double>(bar)));
  line_.draw(fmt::format("[{}{}]{}", std::string(full, '#'), std::string(bar - full, '-'), numbers));
}

void ProgressBar::update(std::uint64_t done) {
  const auto now = Clock::now();
  if (!terminal_) {
    const std::uint64_t tenth = done * 10 / total_;
    if (tenth > tenth_ && now - start_ > std::chrono::seconds(2)) note("{} %", tenth * 10);
    tenth_ = std::max(tenth_, tenth);
    return;
  }
  if (line_.is_drawn() && now - last_ < std::chrono::milliseconds(200) && done < total_) return;
  last_ = now;
  draw(done, std::chrono::duration<double>(now - start_).count());
}

}  // namespace cli::pull
