#include "base/platform/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace skipstone::platform {
namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 30;

std::error_code last_error() { return {errno, std::generic_category()}; }

int descriptor_of(std::intptr_t file) { return static_cast<int>(file); }

FileKind kind_of(const struct stat& info) {
  return S_ISREG(info.st_mode) ? FileKind::regular : S_ISDIR(info.st_mode) ? FileKind::directory : FileKind::other;
}

OpenFile open_with(const std::string& path, int flags, std::error_code& error) {
  OpenFile file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  error = file.is_open() ? std::error_code() : last_error();
  return file;
}

/// Makes a rename in the folder durable; a file system that cannot do so is no error, since the file exists.
void sync_folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const int folder = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace

void OpenFile::close() {
  if (is_open()) ::close(descriptor_of(release()));
}

// O_NONBLOCK: opening a named pipe would otherwise wait for a writer before it could be refused.
OpenFile open_to_read(const std::string& path, std::error_code& error) { return open_with(path, O_RDONLY | O_NONBLOCK, error); }

OpenFile open_stream(const std::string& path, std::error_code& error) { return open_with(path, O_RDONLY, error); }

FileFacts facts_of(std::intptr_t file, std::error_code& error) {
  struct stat info {};
  if (::fstat(descriptor_of(file), &info) != 0) {
    error = last_error();
    return {};
  }
  error.clear();
  return {kind_of(info), static_cast<std::uint64_t>(std::max<off_t>(0, info.st_size))};
}

FileKind kind_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? kind_of(info) : FileKind::nothing;
}

bool are_same(const std::string& one, const std::string& other) {
  std::error_code error;
  return std::filesystem::equivalent(one, other, error);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename());
  return names;
}

void create_folder_of(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
}

std::size_t read_at(std::intptr_t file, std::uint64_t offset, std::span<std::byte> to, std::error_code& error) {
  error.clear();
  while (true) {
    const ssize_t got = ::pread(descriptor_of(file), to.data(), std::min(to.size(), most_at_once), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    error = last_error();
    return 0;
  }
}

std::size_t read_next(std::intptr_t file, std::span<char> to, std::error_code& error) {
  const ssize_t got = ::read(descriptor_of(file), to.data(), to.size());
  error = got < 0 ? last_error() : std::error_code();
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

Access access_of(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags < 0 ? Access::closed : (flags & O_ACCMODE) == O_WRONLY ? Access::writing_alone : Access::reading;
}

// read_at() neither uses nor moves the position that the two descriptors share.
OpenFile reopen(int descriptor, std::error_code& error) {
  OpenFile file(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  error = file.is_open() ? std::error_code() : last_error();
  return file;
}

int to_descriptor(OpenFile file) { return descriptor_of(file.release()); }

std::error_code replaceable(const std::string&) { return {}; }

OpenFile create_held(const std::string& path, std::error_code& error) {
  OpenFile file = open_with(path, O_WRONLY | O_CREAT | O_EXCL, error);
  if (error) return file;
  // Another process may take the new file for an abandoned one before it is locked.
  const bool taken = ::flock(descriptor_of(file.handle()), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat info {};
  if (!taken && ::fstat(descriptor_of(file.handle()), &info) == 0 && info.st_nlink > 0) return file;
  error = std::make_error_code(std::errc::file_exists);
  return {};
}

OpenFile open_held(const std::string& path, std::error_code& error) {
  OpenFile file = open_with(path, O_RDWR | O_CREAT, error);
  if (error || ::flock(descriptor_of(file.handle()), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP) return file;  // file systems without locks
  error = errno == EWOULDBLOCK ? std::make_error_code(std::errc::resource_unavailable_try_again) : last_error();
  return {};
}

void set_size(std::intptr_t file, std::uint64_t bytes, std::error_code& error) {
  const auto size = static_cast<off_t>(bytes);
  const bool done = ::ftruncate(descriptor_of(file), size) == 0 && ::lseek(descriptor_of(file), size, SEEK_SET) == size;
  error = done ? std::error_code() : last_error();
}

void write_all(std::intptr_t file, std::span<const std::byte> bytes, std::error_code& error) {
  error.clear();
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_of(file), bytes.data(), std::min(bytes.size(), most_at_once));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      error = last_error();
      return;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void flush(std::intptr_t file, std::error_code& error) {
  error = ::fsync(descriptor_of(file)) != 0 && errno != EINVAL && errno != ENOSYS ? last_error() : std::error_code();
}

// Renamed before it is closed: an unlocked file would look abandoned.
void rename_held(const OpenFile&, const std::string& from, const std::string& to, std::error_code& error) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    error = last_error();
    return;
  }
  error.clear();
  sync_folder_of(to);
}

void discard_held(OpenFile& file, const std::string& path) {
  ::unlink(path.c_str());
  file.close();
}

void remove_abandoned(const std::string& path) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file.is_open() && ::flock(descriptor_of(file.handle()), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
}

}  // namespace skipstone::platform
