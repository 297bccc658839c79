#include "chat/jinja/template.h"

#include <chrono>
#include <cstdio>

#include "base/escape.h"
#include "base/platform/system.h"
#include "base/status.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/syntax.h"

namespace skipstone::chat::jinja {

Template::Template(std::string_view source) : program_(std::make_unique<Program>(parse(source))) {}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

Text Template::render(const Dict& variables, std::size_t variables_bytes, const std::tm& now) const {
  Limits limits;
  limits.steps += 50 * static_cast<std::uint64_t>(variables_bytes);
  return Interpreter(*program_, variables, now, limits).render();
}

std::tm local_time() {
  return platform::local_time(std::time(nullptr));
}

// By the calendar alone: mktime() would read the time zone, under a lock of the C library's.
std::tm parsed_time(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, end = 0;
  const std::string copy(text);
  const int fields = std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &end);
  const auto below = [](int value, int limit) { return value >= 0 && value < limit; };
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  const bool whole = fields == 6 && static_cast<std::size_t>(end) == text.size();
  if (!whole || !date.ok() || !below(hour, 24) || !below(minute, 60) || !below(second, 60)) {
    fail(Code::invalid_argument, "'{}' is no time; it is written as 2025-07-04T09:08:07", shortened(text, 40));
  }
  const std::chrono::sys_days days(date);
  std::tm time{};
  time.tm_year = year - 1900;
  time.tm_mon = month - 1;
  time.tm_mday = day;
  time.tm_hour = hour;
  time.tm_min = minute;
  time.tm_sec = second;
  time.tm_wday = static_cast<int>(std::chrono::weekday(days).c_encoding());
  time.tm_yday = static_cast<int>((days - std::chrono::sys_days(date.year() / std::chrono::January / 1)).count());
  return time;
}

}  // namespace skipstone::chat::jinja
