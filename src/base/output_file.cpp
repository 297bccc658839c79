#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/status.h"

namespace skipstone {

OutputFile::OutputFile(const std::string& path) : path_(path) {
  struct stat info {};
  // Renaming onto a device or a directory would replace the one and fail late on the other.
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) fail(Code::io, "{}: cannot write: it is not a regular file", path);
  static std::atomic<unsigned> number{0};
  temporary_ = fmt::format("{}.{}.{}.tmp", path, ::getpid(), number++);
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) failed("create the file");
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!renamed_) ::unlink(temporary_.c_str());
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
  if (::close(std::exchange(descriptor_, -1)) != 0) failed("write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) failed("rename the finished file");
  renamed_ = true;
}

void OutputFile::failed(const char* what) const {
  const std::string reason = std::generic_category().message(errno);
  fail(Code::io, "{}: cannot {}: {}; nothing was left behind", path_, what, reason);
}

}  // namespace skipstone
