#include "base/output_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <random>
#include <system_error>

#include "base/platform/files.h"
#include "base/status.h"

namespace skipstone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".tmp";
constexpr std::size_t digits = 16;

/// A random name: counters and process ids repeat, above all in containers.
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

/// Removes temporary files of `path` that no process holds any more.
void remove_dead(const std::string& path) {
  const fs::path target = platform::path_of(path);
  const std::string name = platform::text_of(target.filename());
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  for (const std::string& entry : platform::names_in(platform::text_of(folder))) {
    if (is_temporary_of(entry, name)) platform::remove_abandoned(platform::text_of(folder / platform::path_of(entry)));
  }
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  const platform::FileKind kind = platform::kind_of(path);
  // Renaming onto a device or a directory would replace the one and fail late on the other.
  if (kind != platform::FileKind::nothing && kind != platform::FileKind::regular)
    fail(Code::io, "{}: cannot write: it is not a regular file", path);
  if (const std::error_code error = platform::replaceable(path)) failed("replace the file", error);
  remove_dead(path);
  std::error_code error;
  do {
    temporary_ = temporary_name(path_);
    file_ = platform::create_held(temporary_, error);
  } while (error == std::errc::file_exists);
  if (error) {
    temporary_.clear();
    failed("create the file", error);
  }
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) platform::discard_held(file_, temporary_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  std::error_code error;
  platform::write_all(file_.handle(), bytes, error);
  if (error) failed("write", error);
}

void OutputFile::finish() {
  std::error_code error;
  platform::flush(file_.handle(), error);  // some file systems report a full disk only here
  if (error) failed("write", error);
  platform::rename_held(file_, temporary_, path_, error);
  if (error) failed("rename the finished file", error);
  temporary_.clear();
  file_.close();  // while held, no other program can open it on Windows
}

void OutputFile::failed(const char* what, const std::error_code& reason) const {
  fail(Code::io, "{}: cannot {}: {}; no partial file is left", path_, what, reason.message());
}

void write_whole_file(const std::string& path, std::span<const std::byte> bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.finish();
}

}  // namespace skipstone
