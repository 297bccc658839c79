#include "base/platform/system.h"

#include <windows.h>
// after windows.h
#include <shellapi.h>

#include <algorithm>
#include <cwchar>
#include <optional>
#include <thread>

#include "base/platform/windows/shared.h"
#include "base/status.h"

namespace skipstone::platform {
namespace {

/// `flags`: of WideCharToMultiByte. Nothing for text that they refuse.
std::optional<std::string> converted(std::wstring_view text, DWORD flags) {
  if (text.empty()) return std::string();
  const int units = static_cast<int>(text.size());
  const int bytes = WideCharToMultiByte(CP_UTF8, flags, text.data(), units, nullptr, 0, nullptr, nullptr);
  if (bytes <= 0) return std::nullopt;
  std::string result(static_cast<std::size_t>(bytes), '\0');
  WideCharToMultiByte(CP_UTF8, flags, text.data(), units, result.data(), bytes, nullptr, nullptr);
  return result;
}

/// CLI11 reads the variables that options name from the C library, which would answer in the code page of the system.
void give_variables_as_utf8() {
  wchar_t* const all = GetEnvironmentStringsW();
  if (all == nullptr) return;
  for (const wchar_t* entry = all; *entry != L'\0'; entry += std::wstring_view(entry).size() + 1) {
    const std::wstring_view variable(entry);
    if (!variable.starts_with(L"SKIPSTONE_")) continue;
    _putenv(utf8(variable).c_str());
    // _putenv told the system as well, in the wrong code page.
    const std::size_t equals = variable.find(L'=');
    SetEnvironmentVariableW(std::wstring(variable.substr(0, equals)).c_str(), std::wstring(variable.substr(equals + 1)).c_str());
  }
  FreeEnvironmentStringsW(all);
}

/// A text of the machine's part of the registry.
std::string registry_text(const wchar_t* key, const wchar_t* name) {
  wchar_t value[256];
  DWORD bytes = sizeof value;
  const LSTATUS status = RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, nullptr, value, &bytes);
  return status == ERROR_SUCCESS ? utf8(value) : std::string();
}

}  // namespace

std::wstring utf16(std::string_view text) {
  if (text.empty()) return {};
  const int bytes = static_cast<int>(text.size());
  std::wstring result(static_cast<std::size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, result.data(), static_cast<int>(result.size()));
  return result;
}

std::string utf8(std::wstring_view text) { return converted(text, 0).value_or(""); }

Machine machine() {
  Machine machine;
  machine.system = "Windows build " + registry_text(L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion", L"CurrentBuildNumber");
  machine.processor = registry_text(L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", L"ProcessorNameString");
  machine.cores = std::thread::hardware_concurrency();
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (GlobalMemoryStatusEx(&status)) machine.memory_bytes = status.ullTotalPhys;
  return machine;
}

std::vector<DisplayAdapter> display_adapters() {
  std::vector<DisplayAdapter> adapters;
  DISPLAY_DEVICEW device{};
  device.cb = sizeof device;
  for (DWORD i = 0; EnumDisplayDevicesW(nullptr, i, &device, 0) != 0; ++i) {
    // "PCI\\VEN_10DE&DEV_2684&...", once for each of its outputs.
    constexpr std::wstring_view mark = L"PCI\\VEN_";
    const std::wstring_view id = device.DeviceID;
    if (!id.starts_with(mark) || id.size() < mark.size() + 4) continue;
    const auto vendor = static_cast<std::uint32_t>(std::wcstoul(std::wstring(id.substr(mark.size(), 4)).c_str(), nullptr, 16));
    if (vendor != 0 && std::ranges::find(adapters, vendor, &DisplayAdapter::vendor) == adapters.end()) adapters.push_back({vendor, {}});
  }
  return adapters;
}

std::vector<std::string> arguments(int, char**) {
  give_variables_as_utf8();
  int count = 0;
  wchar_t** const wide = CommandLineToArgvW(GetCommandLineW(), &count);
  if (wide == nullptr) fail(Code::invalid_argument, "the command line cannot be read: Windows error {}", GetLastError());
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    const std::optional<std::string> text = converted(wide[i], WC_ERR_INVALID_CHARS);
    if (!text) {
      LocalFree(wide);
      fail(Code::invalid_argument, "argument {} is no Unicode text: it has half of a surrogate pair", i);
    }
    all.push_back(*text);
  }
  LocalFree(wide);
  return all;
}

std::optional<std::string> environment(const char* name) {
  const std::wstring wide = utf16(name);
  std::wstring value(256, L'\0');
  while (true) {
    SetLastError(ERROR_SUCCESS);
    const DWORD units = GetEnvironmentVariableW(wide.c_str(), value.data(), static_cast<DWORD>(value.size()));
    if (units == 0 && GetLastError() != ERROR_SUCCESS) return std::nullopt;
    const bool fits = units < value.size();
    value.resize(units);
    if (fits) return utf8(value);
  }
}

std::string cache_directory() { return environment("LOCALAPPDATA").value_or(""); }

std::string program_folder() {
  std::wstring path(MAX_PATH, L'\0');
  while (true) {
    const DWORD units = GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size()));
    if (units == 0) return {};
    if (units < path.size()) {
      path.resize(units);
      break;
    }
    path.resize(2 * path.size());
  }
  const std::size_t slash = path.find_last_of(L"\\/");
  return slash == std::wstring::npos ? std::string() : utf8(std::wstring_view(path).substr(0, slash));
}

std::uint64_t free_memory() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return GlobalMemoryStatusEx(&status) ? status.ullAvailPhys : 0;
}

std::uint64_t last_level_cache() {
  DWORD bytes = 0;
  GetLogicalProcessorInformation(nullptr, &bytes);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> all(bytes / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION) + 1);
  bytes = static_cast<DWORD>(all.size() * sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
  if (!GetLogicalProcessorInformation(all.data(), &bytes)) return 0;
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < bytes / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION); ++i) {
    if (all[i].Relationship == RelationCache && all[i].Cache.Size > largest) largest = all[i].Cache.Size;
  }
  return largest;
}

std::tm local_time(std::time_t time) {
  std::tm local{};
  localtime_s(&local, &time);
  return local;
}

// Knuth, Morris and Pratt (1977): Windows has no memmem().
std::size_t find_bytes(std::string_view text, std::string_view what) {
  if (what.empty()) return 0;
  std::vector<std::size_t> matched(what.size(), 0);  // the longest prefix of `what` that ends here
  for (std::size_t i = 1, length = 0; i < what.size(); ++i) {
    while (length > 0 && what[i] != what[length]) length = matched[length - 1];
    if (what[i] == what[length]) ++length;
    matched[i] = length;
  }
  for (std::size_t i = 0, length = 0; i < text.size(); ++i) {
    while (length > 0 && text[i] != what[length]) length = matched[length - 1];
    if (text[i] == what[length]) ++length;
    if (length == what.size()) return i + 1 - length;
  }
  return std::string_view::npos;
}

void* open_library(const char* name) { return reinterpret_cast<void*>(LoadLibraryW(utf16(name).c_str())); }

void* find_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
}

std::span<const char* const> vulkan_loaders() {
  static constexpr const char* names[] = {"vulkan-1.dll"};
  return names;
}

const char* gpu_driver_advice(std::string_view) { return "install the current driver from the GPU's maker, and start Windows again"; }

const char* vulkan_loader_advice() { return "install the current driver of your GPU, which brings it, then try again"; }

bool frees_ports_by_reuse() { return false; }

std::optional<std::size_t> raise_descriptor_limit() { return std::nullopt; }
void keep_little_freed_memory() {}
void release_freed_memory() {}

}  // namespace skipstone::platform
