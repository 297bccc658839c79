// strftime_now().
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/status.h"
#include "chat/jinja/interpreter.h"

namespace skipstone::chat::jinja {
namespace {

constexpr std::array<std::string_view, 7> days = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> months = {"January", "February", "March",     "April",   "May",      "June",
                                                     "July",    "August",   "September", "October", "November", "December"};

std::string field(char kind, bool padded, const std::tm& t) {
  const auto number = [&](int value, int width) { return padded ? fmt::format("{:0{}}", value, width) : std::to_string(value); };
  const std::string_view day = days[static_cast<std::size_t>(t.tm_wday) % 7];
  const std::string_view month = months[static_cast<std::size_t>(t.tm_mon) % 12];
  const int hour = t.tm_hour % 12 == 0 ? 12 : t.tm_hour % 12;
  switch (kind) {
    case 'a':
      return std::string(day.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'B':
      return std::string(month);
    case 'd':
      return number(t.tm_mday, 2);
    case 'e':
      return padded ? fmt::format("{:2}", t.tm_mday) : std::to_string(t.tm_mday);
    case 'm':
      return number(t.tm_mon + 1, 2);
    case 'y':
      return number((t.tm_year + 1900) % 100, 2);
    case 'Y':
      return std::to_string(t.tm_year + 1900);
    case 'H':
      return number(t.tm_hour, 2);
    case 'I':
      return number(hour, 2);
    case 'M':
      return number(t.tm_min, 2);
    case 'S':
      return number(t.tm_sec, 2);
    case 'p':
      return t.tm_hour < 12 ? "AM" : "PM";
    case 'j':
      return number(t.tm_yday + 1, 3);
    case 'w':
      return std::to_string(t.tm_wday);
    case 'u':
      return std::to_string(t.tm_wday == 0 ? 7 : t.tm_wday);
    case 'f':
      return "000000";
    case 'z':
    case 'Z':
      return "";  // datetime.now() has no time zone
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    default:
      fail(Code::invalid_argument, "strftime_now() does not know '%{}'", std::string(1, kind));
  }
}

/// The expansion of a conversion that combines several fields; null where `kind` is none.
const char* composed(char kind) {
  switch (kind) {
    case 'F':
      return "%Y-%m-%d";
    case 'T':
    case 'X':
      return "%H:%M:%S";
    case 'R':
      return "%H:%M";
    case 'D':
    case 'x':
      return "%m/%d/%y";
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    case 'r':
      return "%I:%M:%S %p";
    default:
      return nullptr;
  }
}

}  // namespace

std::string formatted_time(std::string_view format, const std::tm& time) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const bool plain = format[i + 1] == '-' && i + 2 < format.size();
    i += plain ? 2 : 1;
    const char* parts = composed(format[i]);
    out += parts != nullptr ? formatted_time(parts, time) : field(format[i], !plain, time);
  }
  return out;
}

}  // namespace skipstone::chat::jinja
