#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>

#include "base/status.h"

namespace skipstone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".tmp";
constexpr std::size_t digits = 16;

/// Random, not counted or by process: those repeat, in containers above all.
std::string temporary_name(const std::string& path) {
  std::random_device random;
  const std::uint64_t number = std::uint64_t{random()} << 32 | random();
  return fmt::format("{}.{:016x}{}", path, number, ending);
}

bool is_temporary_of(std::string_view name, std::string_view file) {
  if (name.size() != file.size() + 1 + digits + ending.size() || !name.starts_with(file) || !name.ends_with(ending)) return false;
  const std::string_view number = name.substr(file.size() + 1, digits);
  return name[file.size()] == '.' && number.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// A writer holds a lock on its file for as long as it lives; what can be locked belongs to nobody.
void remove_if_dead(const std::string& temporary) {
  const int descriptor = ::open(temporary.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) return;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(temporary.c_str());
  ::close(descriptor);
}

void remove_dead(const std::string& path) {
  const fs::path target(path);
  const std::string name = target.filename().string();
  std::error_code error;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (is_temporary_of(entry->path().filename().native(), name)) remove_if_dead(entry->path().string());
  }
}

/// Makes a rename in the folder last; file systems that cannot are no reason to fail, the file is there.
void sync_folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const int folder = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  struct stat info {};
  // Renaming onto a device or a directory would replace the one and fail late on the other.
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) fail(Code::io, "{}: cannot write: it is not a regular file", path);
  remove_dead(path);
  while (!create()) {
  }
}

/// False where another process took the new file for a dead one before it was locked.
bool OutputFile::create() {
  temporary_ = temporary_name(path_);
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0 && errno == EEXIST) return false;
  if (descriptor_ < 0) failed("create the file");
  const bool taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat info {};
  if (!taken && ::fstat(descriptor_, &info) == 0 && info.st_nlink > 0) return true;
  ::close(descriptor_);
  descriptor_ = -1;
  return false;
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) failed("write");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void OutputFile::finish() {
  // Some file systems report a full disk only here.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOSYS) failed("write");
  // Renamed before it is closed: an unlocked file would look dead.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) failed("rename the finished file");
  temporary_.clear();
  sync_folder_of(path_);
}

void OutputFile::failed(const char* what) const {
  const std::string reason = std::generic_category().message(errno);
  fail(Code::io, "{}: cannot {}: {}; nothing was left behind", path_, what, reason);
}

void write_whole_file(const std::string& path, std::span<const std::byte> bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.finish();
}

}  // namespace skipstone
