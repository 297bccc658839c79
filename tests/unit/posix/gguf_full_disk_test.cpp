// Writing a GGUF file where nothing more can be written.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "base/status.h"
#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/writer.h"

namespace skipstone::gguf {
namespace {

using fixtures::bytes_of;
using fixtures::Failure;
using fixtures::failure_of;
using fixtures::TemporaryDirectory;
using fixtures::write_tiny_model;

TEST(WriterOnAFullDisk, LeavesADeviceWhatItIs) {
  Writer writer;
  writer.set("general.name", std::string("x"));
  EXPECT_EQ(failure_of([&] { writer.write("/dev/full"); }).code, Code::io);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

// A disk that fills up on the way, in a child process so that the limit stays there.
TEST(WriterOnAFullDisk, KeepsTheOldFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("m.gguf");
  write_tiny_model({.layers = 1, .seed = 3}, path);
  const std::string before = bytes_of(path);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{20000, 20000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    const Failure failure = failure_of([&] { write_tiny_model({.layers = 1, .seed = 4}, path); });
    ::_exit(failure.code == Code::io && !failure.message.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(bytes_of(path), before);
  const auto files = std::filesystem::directory_iterator(directory.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

}  // namespace
}  // namespace skipstone::gguf
