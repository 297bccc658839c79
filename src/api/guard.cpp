#include "api/guard.h"

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/env.h"
#include "base/escape.h"

namespace skipstone::api {
namespace {

constexpr const char* no_memory = "the system has no memory left; close other programs or use a smaller context";

/// A thread's last sentence. Where there is no memory to keep it, it is that there is none.
struct LastError {
  std::string text;
  bool lost = false;
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

skipstone_status remember(skipstone_status status, const char* text) noexcept {
  LastError& error = last_error();
  try {
    error.text = text;
    error.lost = false;
  } catch (...) {
    error.lost = true;
  }
  return status;
}

skipstone_status out_of_memory() noexcept { return remember(SKIPSTONE_OUT_OF_MEMORY, no_memory); }

/// Exceptions of other libraries may quote what they read.
skipstone_status remember_unknown(const std::exception& error) noexcept {
  try {
    return remember(SKIPSTONE_INTERNAL, message_text(error.what()).c_str());
  } catch (...) {
    return out_of_memory();
  }
}

}  // namespace

skipstone_status from_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return remember(static_cast<skipstone_status>(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return out_of_memory();  // larger than memory can ever be
  } catch (const std::system_error& error) {
    const bool exhausted = error.code() == std::errc::resource_unavailable_try_again || error.code() == std::errc::not_enough_memory;
    return exhausted ? out_of_memory() : remember_unknown(error);  // std::thread has no memory for a stack
  } catch (const std::exception& error) {
    return remember_unknown(error);
  } catch (...) {
    return remember(SKIPSTONE_INTERNAL, "something other than an exception of the standard library was thrown");
  }
}

void require(const void* pointer, const char* what) {
  if (pointer == nullptr) fail(Code::invalid_argument, "{} is null", what);
}

char* copy_string(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

std::string wanted_device(const char* device) {
  if (device != nullptr && *device != '\0') return device;
  return env::get("SKIPSTONE_DEVICE").value_or(std::string());
}

int validation_by_default() { return env::flag("SKIPSTONE_VALIDATION") ? 1 : 0; }

}  // namespace skipstone::api

extern "C" {

const char* skipstone_last_error(void) {
  const skipstone::api::LastError& error = skipstone::api::last_error();
  return error.lost ? skipstone::api::no_memory : error.text.c_str();
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
