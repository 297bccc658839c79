#include "base/platform/files.h"

#include <windows.h>
// after windows.h
#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <array>
#include <cwctype>
#include <memory>
#include <string_view>
#include <vector>

#include "base/platform/windows/shared.h"

namespace skipstone::platform {
namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 30;
constexpr DWORD shared_with_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

std::error_code last_error() { return {static_cast<int>(GetLastError()), std::system_category()}; }

HANDLE handle_in(std::intptr_t file) { return reinterpret_cast<HANDLE>(file); }

/// A path for CreateFileW, also one longer than 260 characters ("Maximum Path Length Limitation" in Microsoft's documentation).
std::wstring system_path(const std::string& path) {
  const std::wstring given = utf16(path);
  std::wstring full(GetFullPathNameW(given.c_str(), 0, nullptr, nullptr), L'\0');
  full.resize(GetFullPathNameW(given.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr));
  constexpr std::size_t room_for_a_name = 12;
  if (full.size() + room_for_a_name < MAX_PATH || full.starts_with(L"\\\\?\\") || full.starts_with(L"\\\\.\\")) return given;
  return full.starts_with(L"\\\\") ? L"\\\\?\\UNC\\" + full.substr(2) : L"\\\\?\\" + full;
}

/// Names that mean devices in every folder, whatever their extension ("Naming Files, Paths, and Namespaces").
bool names_a_device(const std::string& path) {
  std::string name = path.substr(path.find_last_of("/\\") + 1);
  name.resize(std::min(name.find_first_of(".:"), name.size()));
  name.resize(name.find_last_not_of(' ') + 1);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c); });
  constexpr std::array<std::string_view, 6> names = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"};
  if (std::ranges::find(names, name) != names.end()) return true;
  return name.size() == 4 && (name.starts_with("COM") || name.starts_with("LPT")) && name[3] >= '1' && name[3] <= '9';
}

OpenFile open_with(const std::string& path, DWORD access, DWORD share, DWORD how, DWORD flags, std::error_code& error) {
  const HANDLE handle = CreateFileW(system_path(path).c_str(), access, share, nullptr, how, flags, nullptr);
  error = handle == INVALID_HANDLE_VALUE ? last_error() : std::error_code();
  return OpenFile(reinterpret_cast<std::intptr_t>(handle));
}

/// The unread part of a line from a console.
std::string& typed() {
  static std::string text;
  return text;
}

std::size_t take_typed(std::span<char> to) {
  const std::size_t count = std::min(to.size(), typed().size());
  std::copy_n(typed().begin(), count, to.begin());
  typed().erase(0, count);
  return count;
}

std::size_t read_console(HANDLE console, std::span<char> to, std::error_code& error) {
  if (!typed().empty()) return take_typed(to);
  std::array<wchar_t, 4096> line;
  DWORD units = 0;
  SetLastError(ERROR_SUCCESS);
  const bool read = ReadConsoleW(console, line.data(), static_cast<DWORD>(line.size()), &units, nullptr) != 0;
  if (GetLastError() == ERROR_OPERATION_ABORTED) {  // Ctrl-C; its handler runs on another thread
    WaitForSingleObject(signal_event(), 1000);
    error = std::make_error_code(std::errc::interrupted);
    return 0;
  }
  if (!read) {
    error = last_error();
    return 0;
  }
  typed() = utf8(std::wstring_view(line.data(), units));
  std::erase(typed(), '\r');
  if (typed().starts_with('\x1a')) typed().clear();  // Ctrl-Z ends the input
  return take_typed(to);
}

/// False where a signal came first. Windows cannot wait for a pipe, so it is polled every few milliseconds.
bool wait_for_pipe(HANDLE pipe) {
  for (DWORD pause = 1;; pause = std::min<DWORD>(2 * pause, 16)) {
    DWORD bytes = 0;
    if (!PeekNamedPipe(pipe, nullptr, 0, nullptr, &bytes, nullptr) || bytes > 0) return true;
    if (WaitForSingleObject(signal_event(), pause) == WAIT_OBJECT_0) return false;
  }
}

}  // namespace

void OpenFile::close() {
  if (is_open()) CloseHandle(handle_in(release()));
}

// FILE_FLAG_BACKUP_SEMANTICS opens folders too, so that the error can name them as such; devices that may be absent become the one that
// always exists.
OpenFile open_to_read(const std::string& path, std::error_code& error) {
  return open_with(names_a_device(path) ? "NUL" : path, GENERIC_READ, shared_with_all, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, error);
}

OpenFile open_stream(const std::string& path, std::error_code& error) {
  return open_with(path, GENERIC_READ, shared_with_all, OPEN_EXISTING, 0, error);
}

FileFacts facts_of(std::intptr_t file, std::error_code& error) {
  error.clear();
  if (GetFileType(handle_in(file)) != FILE_TYPE_DISK) return {FileKind::other, 0};
  BY_HANDLE_FILE_INFORMATION info{};
  if (!GetFileInformationByHandle(handle_in(file), &info)) {
    error = last_error();
    return {};
  }
  if ((info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return {FileKind::directory, 0};
  return {FileKind::regular, std::uint64_t{info.nFileSizeHigh} << 32 | info.nFileSizeLow};
}

FileKind kind_of(const std::string& path) {
  if (names_a_device(path)) return FileKind::other;
  const DWORD attributes = GetFileAttributesW(system_path(path).c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) return FileKind::nothing;
  return (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? FileKind::directory : FileKind::regular;
}

bool are_same(const std::string& one, const std::string& other) {
  std::error_code error;
  std::array<BY_HANDLE_FILE_INFORMATION, 2> info{};
  const std::array<OpenFile, 2> files = {open_to_read(one, error), open_to_read(other, error)};
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].is_open() || !GetFileInformationByHandle(handle_in(files[i].handle()), &info[i])) return false;
  }
  return info[0].dwVolumeSerialNumber == info[1].dwVolumeSerialNumber && info[0].nFileIndexHigh == info[1].nFileIndexHigh &&
         info[0].nFileIndexLow == info[1].nFileIndexLow;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  WIN32_FIND_DATAW found{};
  const HANDLE search = FindFirstFileW(system_path(folder + "\\*").c_str(), &found);
  if (search == INVALID_HANDLE_VALUE) return names;
  do {
    std::string name = utf8(found.cFileName);
    if (name != "." && name != "..") names.push_back(std::move(name));
  } while (FindNextFileW(search, &found));
  FindClose(search);
  return names;
}

void create_folder_of(const std::string& path) {
  const std::size_t separator = path.find_last_of("/\\");
  if (separator == std::string::npos || separator == 0) return;
  const std::string folder = path.substr(0, separator);
  if (CreateDirectoryW(system_path(folder).c_str(), nullptr) || GetLastError() != ERROR_PATH_NOT_FOUND) return;
  create_folder_of(folder);
  CreateDirectoryW(system_path(folder).c_str(), nullptr);
}

std::size_t read_at(std::intptr_t file, std::uint64_t offset, std::span<std::byte> to, std::error_code& error) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD got = 0;
  error.clear();
  if (!ReadFile(handle_in(file), to.data(), static_cast<DWORD>(std::min(to.size(), most_at_once)), &got, &place) &&
      GetLastError() != ERROR_HANDLE_EOF) {
    error = last_error();
  }
  return got;
}

std::size_t read_next(std::intptr_t file, std::span<char> to, std::error_code& error) {
  error.clear();
  const HANDLE handle = handle_in(file);
  DWORD mode = 0, got = 0;
  if (handle == nullptr || handle == INVALID_HANDLE_VALUE) {  // some consoles take such a handle for their own
    error = std::make_error_code(std::errc::bad_file_descriptor);
    return 0;
  }
  if (GetConsoleMode(handle, &mode)) return read_console(handle, to, error);
  if (GetFileType(handle) == FILE_TYPE_PIPE && !wait_for_pipe(handle)) {
    error = std::make_error_code(std::errc::interrupted);
    return 0;
  }
  if (!ReadFile(handle, to.data(), static_cast<DWORD>(std::min(to.size(), most_at_once)), &got, nullptr) &&
      GetLastError() != ERROR_BROKEN_PIPE && GetLastError() != ERROR_HANDLE_EOF) {
    error = last_error();
  }
  return got;
}

Access access_of(int descriptor) {
  const std::intptr_t handle = ::_get_osfhandle(descriptor);
  if (handle == OpenFile::none || handle == -2) return Access::closed;
  // A file that is open for writing alone refuses even to read zero bytes.
  OVERLAPPED place{};
  DWORD got = 0;
  char byte = 0;
  if (GetFileType(handle_in(handle)) == FILE_TYPE_DISK && !ReadFile(handle_in(handle), &byte, 0, &got, &place) &&
      GetLastError() == ERROR_ACCESS_DENIED) {
    return Access::writing_alone;
  }
  return Access::reading;
}

// A separate file object: reading at an offset would move the position of the caller's.
OpenFile reopen(int descriptor, std::error_code& error) {
  const HANDLE handle = ReOpenFile(handle_in(::_get_osfhandle(descriptor)), GENERIC_READ, shared_with_all, 0);
  error = handle == INVALID_HANDLE_VALUE ? last_error() : std::error_code();
  return OpenFile(reinterpret_cast<std::intptr_t>(handle));
}

int to_descriptor(OpenFile file) {
  if (!file.is_open()) return -1;
  const int descriptor = ::_open_osfhandle(file.handle(), _O_RDONLY | _O_BINARY);
  if (descriptor >= 0) file.release();
  return descriptor;
}

std::error_code replaceable(const std::string& path) {
  std::error_code error;
  if (kind_of(path) == FileKind::nothing) return error;
  const DWORD attributes = GetFileAttributesW(system_path(path).c_str());
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_READONLY) != 0)
    return {static_cast<int>(ERROR_ACCESS_DENIED), std::system_category()};
  open_with(path, DELETE, shared_with_all, OPEN_EXISTING, 0, error);
  return error;
}

// A share mode of 0: no other handle may open the file.
OpenFile create_held(const std::string& path, std::error_code& error) {
  return open_with(path, GENERIC_WRITE | DELETE, 0, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, error);
}

OpenFile open_held(const std::string& path, std::error_code& error) {
  OpenFile file = open_with(path, GENERIC_READ | GENERIC_WRITE | DELETE, 0, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, error);
  if (error == std::error_code(ERROR_SHARING_VIOLATION, std::system_category())) {
    error = std::make_error_code(std::errc::resource_unavailable_try_again);
  }
  return file;
}

void set_size(std::intptr_t file, std::uint64_t bytes, std::error_code& error) {
  LARGE_INTEGER size{};
  size.QuadPart = static_cast<LONGLONG>(bytes);
  const bool done = SetFilePointerEx(handle_in(file), size, nullptr, FILE_BEGIN) != 0 && SetEndOfFile(handle_in(file)) != 0;
  error = done ? std::error_code() : last_error();
}

void write_all(std::intptr_t file, std::span<const std::byte> bytes, std::error_code& error) {
  error.clear();
  while (!bytes.empty()) {
    DWORD count = 0;
    if (!WriteFile(handle_in(file), bytes.data(), static_cast<DWORD>(std::min(bytes.size(), most_at_once)), &count, nullptr)) {
      error = last_error();
      return;
    }
    bytes = bytes.subspan(count);
  }
}

void flush(std::intptr_t file, std::error_code& error) { error = FlushFileBuffers(handle_in(file)) ? std::error_code() : last_error(); }

void rename_held(const OpenFile& file, const std::string&, const std::string& to, std::error_code& error) {
  const std::wstring name = system_path(to);
  const std::size_t bytes = sizeof(FILE_RENAME_INFO) + name.size() * sizeof(wchar_t);
  std::vector<std::uint64_t> memory(bytes / sizeof(std::uint64_t) + 1);
  auto* const info = new (memory.data()) FILE_RENAME_INFO{};
  info->ReplaceIfExists = TRUE;
  info->FileNameLength = static_cast<DWORD>(name.size() * sizeof(wchar_t));
  std::copy(name.begin(), name.end(), info->FileName);
  const bool renamed = SetFileInformationByHandle(handle_in(file.handle()), FileRenameInfo, info, static_cast<DWORD>(bytes)) != 0;
  error = renamed ? std::error_code() : last_error();
}

void discard_held(OpenFile& file, const std::string& path) {
  file.close();
  DeleteFileW(system_path(path).c_str());
}

// Deleting a file that its writer still holds fails.
void remove_abandoned(const std::string& path) { DeleteFileW(system_path(path).c_str()); }

}  // namespace skipstone::platform
