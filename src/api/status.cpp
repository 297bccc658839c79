// Status codes, and the sentence of each thread's last error. Of the runtime alone: libraries over it have no such state of their own.
#include <cstdlib>
#include <string>

#include "skipstone/skipstone_experimental.h"

namespace {

constexpr const char* no_memory = "the system has no memory left; close other programs or use a smaller context";

/// A thread's last sentence. Without memory to keep it, the sentence is that there is none.
struct LastError {
  std::string text;
  bool no_memory = false;
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

}  // namespace

extern "C" {

skipstone_status skipstone_set_last_error(skipstone_status status, const char* sentence) {
  LastError& error = last_error();
  error.no_memory = sentence == nullptr;
  if (sentence == nullptr) return status;
  try {
    error.text = sentence;
  } catch (...) {
    error.no_memory = true;
  }
  return status;
}

const char* skipstone_last_error(void) {
  const LastError& error = last_error();
  return error.no_memory ? no_memory : error.text.c_str();
}

void skipstone_string_free(char* text) { std::free(text); }

const char* skipstone_status_name(skipstone_status status) {
  switch (status) {
    case SKIPSTONE_OK:
      return "ok";
    case SKIPSTONE_INVALID_ARGUMENT:
      return "invalid_argument";
    case SKIPSTONE_NOT_FOUND:
      return "not_found";
    case SKIPSTONE_BAD_FILE:
      return "bad_file";
    case SKIPSTONE_UNSUPPORTED:
      return "unsupported";
    case SKIPSTONE_OUT_OF_MEMORY:
      return "out_of_memory";
    case SKIPSTONE_NO_DEVICE:
      return "no_device";
    case SKIPSTONE_DEVICE_LOST:
      return "device_lost";
    case SKIPSTONE_IO:
      return "io";
    case SKIPSTONE_CANCELLED:
      return "cancelled";
    case SKIPSTONE_INTERNAL:
      return "internal";
  }
  return "unknown";
}

}  // extern "C"
