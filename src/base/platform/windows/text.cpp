#include "base/platform/windows/text.h"

#include <windows.h>

namespace skipstone::platform {
namespace {

std::optional<std::string> utf8(std::wstring_view text, DWORD flags) {
  if (text.empty()) return std::string();
  const int units = static_cast<int>(text.size());
  const int bytes = WideCharToMultiByte(CP_UTF8, flags, text.data(), units, nullptr, 0, nullptr, nullptr);
  if (bytes <= 0) return std::nullopt;
  std::string result(static_cast<std::size_t>(bytes), '\0');
  WideCharToMultiByte(CP_UTF8, flags, text.data(), units, result.data(), bytes, nullptr, nullptr);
  return result;
}

}  // namespace

std::wstring utf16(std::string_view text) {
  if (text.empty()) return {};
  const int bytes = static_cast<int>(text.size());
  std::wstring result(static_cast<std::size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, result.data(), static_cast<int>(result.size()));
  return result;
}

std::string utf8(std::wstring_view text) { return utf8(text, 0).value_or(""); }
std::optional<std::string> strict_utf8(std::wstring_view text) { return utf8(text, WC_ERR_INVALID_CHARS); }

}  // namespace skipstone::platform
