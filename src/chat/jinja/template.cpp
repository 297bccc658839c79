#include "chat/jinja/template.h"

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

std::tm parsed_time(std::string_view text) {
  std::tm time{};
  int end = 0;
  const std::string copy(text);
  const int fields = std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &time.tm_year, &time.tm_mon, &time.tm_mday, &time.tm_hour,
                                 &time.tm_min, &time.tm_sec, &end);
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  time.tm_isdst = -1;
  const std::tm given = time;
  const bool whole = fields == 6 && static_cast<std::size_t>(end) == text.size();
  if (!whole || std::mktime(&time) == -1 || time.tm_mday != given.tm_mday || time.tm_mon != given.tm_mon || time.tm_sec != given.tm_sec) {
    fail(Code::invalid_argument, "'{}' is no time; it is written as 2025-07-04T09:08:07", shortened(text, 40));
  }
  return time;
}

}  // namespace skipstone::chat::jinja
