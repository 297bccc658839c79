// Quantising with symbolic links and on a full disk.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "fixtures/tiny_model.h"
#include "unit/quantize_fixture.h"

namespace skipstone::convert {
namespace {

using fixtures::bytes_of;
using fixtures::Failure;
using fixtures::failure_of;
using fixtures::write_tiny_model;
using gguf::Type;

TEST_F(QuantizeFile, RefusesLinksToTheInput) {
  write_tiny_model({.layers = 1}, file("in.gguf"));
  std::filesystem::create_symlink(file("in.gguf"), file("link.gguf"));
  std::filesystem::create_symlink(file("nowhere.gguf"), file("dangling.gguf"));
  const std::string input = bytes_of(file("in.gguf"));
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& part) {
    const Failure failure = refused(from, to);
    EXPECT_EQ(failure.code, Code::invalid_argument) << failure.message;
    EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
  };
  expect(file("in.gguf"), file("link.gguf"), "is the input");
  expect(file("link.gguf"), file("in.gguf"), "is the input");
  expect(file("in.gguf"), file("dangling.gguf"), "is there already");
  EXPECT_EQ(bytes_of(file("in.gguf")), input);
  QuantizeOptions forced = options(file("in.gguf"), "/dev/full", Type::q8_0);
  forced.overwrite = true;
  EXPECT_EQ(refused(forced).code, Code::io);
}

// In a child process, so that the limit stays there.
TEST_F(QuantizeFile, FullDiskLeavesTheOldFileAndNothingElse) {
  write_tiny_model({}, file("in.gguf"));
  write_tiny_model({.layers = 1, .seed = 3}, file("out.gguf"));
  const std::string before = bytes_of(file("out.gguf"));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{30000, 30000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    QuantizeOptions given = options(file("in.gguf"), file("out.gguf"), Type::f16);
    given.overwrite = true;
    const Failure failure = failure_of([&] { quantize(given); });
    ::_exit(failure.code == Code::io && failure.message.find("out.gguf") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(bytes_of(file("out.gguf")), before);
  EXPECT_EQ(files(), 2u);
}

}  // namespace
}  // namespace skipstone::convert
