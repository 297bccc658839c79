// The system's file functions. The project's readers and writers use InputFile and OutputFile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace skipstone::platform {

/// An open file; closed on destruction. A descriptor on POSIX systems, a HANDLE on Windows.
class OpenFile {
 public:
  static constexpr std::intptr_t none = -1;

  OpenFile() = default;
  explicit OpenFile(std::intptr_t handle) : handle_(handle) {}
  OpenFile(OpenFile&& other) noexcept : handle_(std::exchange(other.handle_, none)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~OpenFile() { close(); }

  std::intptr_t handle() const { return handle_; }
  bool is_open() const { return handle_ != none; }
  void close();
  /// Gives the handle to the caller, who closes it.
  std::intptr_t release() { return std::exchange(handle_, none); }

 private:
  std::intptr_t handle_ = none;
};

enum class FileKind { nothing, regular, directory, other };

struct FileFacts {
  FileKind kind = FileKind::nothing;
  std::uint64_t bytes = 0;
};

/// Paths are UTF-8. Every function reports the system's error in `error`, which it clears on success.

/// Never waits, whatever `path` is; on Windows the file can still be renamed and removed.
OpenFile open_to_read(const std::string& path, std::error_code& error);
/// Waits for a writer where `path` is a named pipe.
OpenFile open_stream(const std::string& path, std::error_code& error);

FileFacts facts_of(std::intptr_t file, std::error_code& error);
/// The kind of the file of this name, links followed. Windows' names of devices (NUL, con.txt) are `other`.
FileKind kind_of(const std::string& path);
/// An inaccessible file counts as absent.
inline bool is_there(const std::string& path) { return kind_of(path) != FileKind::nothing; }
/// Whether both exist and are one file, links followed.
bool are_same(const std::string& one, const std::string& other);
/// The entries of a folder, without itself and its parent; empty where it cannot be read.
std::vector<std::string> names_in(const std::string& folder);
/// Creates the folder of `path` and its parents. If that fails, creating the file fails later with the reason.
void create_folder_of(const std::string& path);

/// Reads bytes from `offset` on, as many as come at once; 0 at the end.
std::size_t read_at(std::intptr_t file, std::uint64_t offset, std::span<std::byte> to, std::error_code& error);
/// Reads the next bytes of a file, pipe or terminal (typed ones as UTF-8), as many as come at once; 0 at the end. A signal may interrupt
/// it (errc::interrupted).
std::size_t read_next(std::intptr_t file, std::span<char> to, std::error_code& error);

/// The access that a C library's descriptor is open for.
enum class Access { closed, reading, writing_alone };
Access access_of(int descriptor);
/// The same file, for reading at explicit offsets; closed separately.
OpenFile reopen(int descriptor, std::error_code& error);
/// A C library's descriptor for `file`, which owns the file from now on; -1 if none is left.
int to_descriptor(OpenFile file);

/// Why a finished file could not replace the file of this name, as far as that is known in advance (on Windows: another program has it
/// open, or it is marked read-only).
std::error_code replaceable(const std::string& path);

/// A new file that its writer holds for as long as it is open. errc::file_exists: the name is taken, or another process removed the new
/// file before it was held; another name may do.
OpenFile create_held(const std::string& path, std::error_code& error);
/// A file to read and to write, created where it is not there, that is held likewise. errc::resource_unavailable_try_again: another holder
/// has it.
OpenFile open_held(const std::string& path, std::error_code& error);
/// Makes the file `bytes` long; write_all() then writes to its end.
void set_size(std::intptr_t file, std::uint64_t bytes, std::error_code& error);
/// Writes all of `bytes`.
void write_all(std::intptr_t file, std::span<const std::byte> bytes, std::error_code& error);
/// Returns when the bytes are on the disk, where the file system can say so.
void flush(std::intptr_t file, std::error_code& error);
/// Renames an open file made by create_held(), replacing any file of the new name; it stays held throughout.
void rename_held(const OpenFile& file, const std::string& from, const std::string& to, std::error_code& error);
/// Closes and removes an open file made by create_held().
void discard_held(OpenFile& file, const std::string& path);
/// Removes a file of create_held() whose writer has ended.
void remove_abandoned(const std::string& path);

// ---- paths, which are UTF-8 in the project; std::filesystem takes other text on Windows ----

/// On Windows throws std::filesystem::filesystem_error or std::system_error for invalid UTF-8; other systems take any bytes.
inline std::filesystem::path path_of(const std::string& utf8) { return {std::u8string(utf8.begin(), utf8.end())}; }

/// As UTF-8.
inline std::string text_of(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {text.begin(), text.end()};
}

}  // namespace skipstone::platform
