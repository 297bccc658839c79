// Conversions of single metadata values, with errors that name the key and the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf.h"

namespace skipstone::gguf {

// All of these throw bad_file where the value is of another kind or does not fit.
std::uint64_t to_unsigned(const Value& value, std::string_view key, const std::string& path);
double to_number(const Value& value, std::string_view key, const std::string& path);
bool to_boolean(const Value& value, std::string_view key, const std::string& path);
const std::string& to_string(const Value& value, std::string_view key, const std::string& path);
const std::vector<std::string>& to_strings(const Value& value, std::string_view key, const std::string& path);
std::vector<float> to_floats(const Value& value, std::string_view key, const std::string& path);
std::vector<std::int32_t> to_integers(const Value& value, std::string_view key, const std::string& path);

}  // namespace skipstone::gguf
