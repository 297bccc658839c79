#include "base/input_file.h"

#include <fmt/format.h>

#include <cstring>
#include <system_error>
#include <utility>

#include "base/status.h"

namespace skipstone {
namespace {

/// The size of a file that can be read by offset; throws where it cannot.
std::uint64_t regular_size(const platform::OpenFile& file, const std::string& path) {
  std::error_code error;
  const platform::FileFacts facts = platform::facts_of(file.handle(), error);
  if (error) fail(Code::io, "{}: cannot ask for the file's size: {}", path, error.message());
  if (facts.kind == platform::FileKind::directory)
    fail(Code::bad_file, "{}: is a directory and not a regular file; name a file in it", path);
  if (facts.kind != platform::FileKind::regular) fail(Code::bad_file, "{}: is not a regular file; copy what it gives to a file", path);
  return facts.bytes;
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  if (path.find('\0') != std::string::npos) fail(Code::not_found, "a file name cannot contain a zero byte");
  std::error_code error;
  file_ = platform::open_to_read(path, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
    fail(Code::not_found, "{}: there is no such file; check the path", path);
  if (error) fail(Code::io, "{}: cannot open the file: {}", path, error.message());
  size_ = regular_size(file_, path);
}

InputFile InputFile::borrow(int descriptor, std::uint64_t offset, std::optional<std::uint64_t> size) {
  InputFile file;
  file.path_ = fmt::format("file descriptor {}", descriptor);
  const platform::Access access = platform::access_of(descriptor);
  if (access == platform::Access::closed) {
    fail(Code::invalid_argument, "{}: is not open; pass one that is, and close it after the call", file.path_);
  }
  if (access == platform::Access::writing_alone)
    fail(Code::invalid_argument, "{}: is open for writing alone; open the file for reading", file.path_);
  std::error_code error;
  file.file_ = platform::reopen(descriptor, error);
  if (error) fail(Code::io, "{}: cannot be opened again: {}", file.path_, error.message());
  const std::uint64_t whole = regular_size(file.file_, file.path_);
  if (offset > whole || size.value_or(0) > whole - offset) {
    fail(Code::invalid_argument, "{}: {} bytes from byte {} on are asked for, but its file has {}", file.path_, size.value_or(0), offset,
         whole);
  }
  file.begin_ = offset;
  file.size_ = size.value_or(whole - offset);
  return file;
}

InputFile InputFile::in_memory(std::span<const std::byte> bytes, std::string name) {
  InputFile file;
  file.path_ = std::move(name);
  file.memory_ = bytes.data();
  file.size_ = bytes.size();
  return file;
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (offset > size_ || to.size() > size_ - offset)
    fail(Code::internal, "{}: has {} bytes; byte {} was asked for", path_, size_, offset + to.size());
  if (memory_ != nullptr) {
    std::memcpy(to.data(), memory_ + offset, to.size());
    return;
  }
  while (!to.empty()) {
    std::error_code error;
    const std::size_t got = platform::read_at(file_.handle(), begin_ + offset, to, error);
    if (error) fail(Code::io, "{}: cannot read at byte {}: {}", path_, offset, error.message());
    if (got == 0) {
      fail(Code::bad_file, "{}: ends at byte {} of {} now: it was cut short while it was read; get the whole file, and leave it in peace",
           path_, offset, size_);
    }
    offset += got;
    to = to.subspan(got);
  }
}

std::string read_whole_file(const std::string& path, std::uint64_t most_bytes) {
  const InputFile file(path);
  if (file.size() > most_bytes)
    fail(Code::bad_file, "{}: has {} bytes, more than the {} that such a file may have", path, file.size(), most_bytes);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace skipstone
