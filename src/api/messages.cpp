// The library's warnings, handed to the application.
#include <string>

#include "base/log.h"
#include "skipstone/skipstone.h"

extern "C" void skipstone_set_log(skipstone_log_fn log, void* user_data) {
  if (log == nullptr) {
    skipstone::log::set_sink({});
    return;
  }
  skipstone::log::set_sink([log, user_data](skipstone::log::Level level, std::string_view text) {
    log(static_cast<int>(level), std::string(text).c_str(), user_data);
  });
}
