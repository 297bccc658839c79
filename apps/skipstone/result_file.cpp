#include "result_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "exit_code.h"

namespace cli {
namespace {

/// Removed again unless it is renamed to its final name.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : path_(path), temporary_(fmt::format("{}.{}.tmp", path, getpid())) {
    struct stat info {};
    // Renaming would replace a device, and fail late on a folder.
    if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
      throw Failure(ExitCode::failure, fmt::format("'{}' cannot be written: it is not a regular file", path));
    }
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) failed();
    created_ = true;
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (created_) unlink(temporary_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) failed();
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void finish() {
    if (fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOSYS) failed();
    if (close(std::exchange(descriptor_, -1)) != 0) failed();
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) failed();
    created_ = false;
  }

 private:
  [[noreturn]] void failed() const {
    throw Failure(ExitCode::failure, fmt::format("'{}' cannot be written: {}", path_, std::strerror(errno)));
  }

  std::string path_, temporary_;
  int descriptor_ = -1;
  bool created_ = false;
};

}  // namespace

void check_writable(const std::string& path) { const TemporaryFile file(path); }

void write_file(const std::string& path, std::string_view content) {
  TemporaryFile file(path);
  file.write(content);
  file.finish();
}

}  // namespace cli
