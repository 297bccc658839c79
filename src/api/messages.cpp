// Messages, to the application and from libraries over this one.
#include <algorithm>
#include <string>

#include "base/log.h"
#include "skipstone/skipstone_experimental.h"

extern "C" {

void skipstone_set_log(skipstone_log_fn log, void* user_data) {
  if (log == nullptr) {
    skipstone::log::set_sink({});
    return;
  }
  skipstone::log::set_sink([log, user_data](skipstone::log::Level level, std::string_view text) {
    log(static_cast<int>(level), std::string(text).c_str(), user_data);
  });
}

void skipstone_log_message(int level, const char* text) {
  if (text == nullptr) return;
  const int known = std::clamp(level, static_cast<int>(SKIPSTONE_LOG_DEBUG), static_cast<int>(SKIPSTONE_LOG_ERROR));
  skipstone::log::write(static_cast<skipstone::log::Level>(known), "{}", fmt::make_format_args(text));
}

}  // extern "C"
