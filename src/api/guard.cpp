#include "api/guard.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/env.h"
#include "base/escape.h"
#include "json/json.h"
#include "skipstone/skipstone_experimental.h"

namespace skipstone::api {
namespace {

/// Kept without a copy, for there may be no memory for one.
skipstone_status out_of_memory() noexcept { return skipstone_set_last_error(SKIPSTONE_OUT_OF_MEMORY, nullptr); }

/// Exceptions of other libraries may quote what they read.
skipstone_status remember_unknown(const std::exception& error) noexcept {
  try {
    return skipstone_set_last_error(SKIPSTONE_INTERNAL, message_text(error.what()).c_str());
  } catch (...) {
    return out_of_memory();
  }
}

}  // namespace

skipstone_status from_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    const skipstone_status status = skipstone_set_last_error(static_cast<skipstone_status>(error.code()), error.what());
    skipstone_set_last_error_where(error.where().c_str());
    return status;
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
    return skipstone_set_last_error(SKIPSTONE_INTERNAL, "something other than an exception of the standard library was thrown");
  }
}

void copy_params(void* target, std::size_t target_size, const void* given, std::size_t size) {
  if (size < sizeof(std::size_t) || size > most_struct_bytes) {
    fail(Code::invalid_argument, "struct_size of a parameter struct is not set; fill the struct with its *_params_init() function first");
  }
  const auto* bytes = static_cast<const unsigned char*>(given);
  for (std::size_t i = target_size; i < size; ++i) {
    if (bytes[i] == 0) continue;
    fail(Code::unsupported,
         "the program was built for a newer Skipstone and sets a parameter that version {} does not know; update the library",
         SKIPSTONE_VERSION_STRING);
  }
  std::memcpy(target, given, size < target_size ? size : target_size);
}

void init_params(void* target, std::size_t size, const void* defaults, std::size_t defaults_size) noexcept {
  if (target == nullptr || size < sizeof(std::size_t) || size > most_struct_bytes) return;
  std::memset(target, 0, size);
  std::memcpy(target, defaults, size < defaults_size ? size : defaults_size);
  std::memcpy(target, &size, sizeof(size));
}

void require(const void* pointer, const char* what) {
  if (pointer == nullptr) fail(Code::invalid_argument, "{} is null", what);
}

void require_array(const void* array, std::size_t count, std::size_t most, const char* what) {
  if (count > most) fail(Code::invalid_argument, "{} {} are too many; {} are possible", count, what, most);
  if (count > 0) require(array, what);
}

char* copy_string(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

skipstone_token* copy_tokens(const std::vector<skipstone_token>& tokens) {
  auto* copy = static_cast<skipstone_token*>(std::malloc(std::max<std::size_t>(1, tokens.size()) * sizeof(skipstone_token)));
  if (copy == nullptr) throw std::bad_alloc();
  std::copy(tokens.begin(), tokens.end(), copy);
  return copy;
}

std::string wanted_device(const char* device) {
  if (device != nullptr && *device != '\0') return device;
  return env::get("SKIPSTONE_DEVICE").value_or(std::string());
}

int validation_by_default() { return env::flag("SKIPSTONE_VALIDATION") ? 1 : 0; }

std::string print(const Json& document) { return document.dump(2, ' ', false, Json::error_handler_t::replace); }

Json tensor_types_json(const gguf::File& file) {
  struct Sum {
    std::uint64_t tensors = 0, weights = 0, bytes = 0;
  };
  std::map<gguf::Type, Sum> sums;
  for (const gguf::Tensor& tensor : file.tensors()) {
    Sum& sum = sums[tensor.type];
    ++sum.tensors;
    sum.weights += tensor.elements();
    sum.bytes += tensor.data.size();
  }
  Json list = Json::array();
  for (const auto& [type, sum] : sums) {
    const gguf::Traits& traits = gguf::traits(type);
    list.push_back(
        {{"type", traits.name}, {"runnable", traits.runnable}, {"tensors", sum.tensors}, {"weights", sum.weights}, {"bytes", sum.bytes}});
  }
  return list;
}

}  // namespace skipstone::api
