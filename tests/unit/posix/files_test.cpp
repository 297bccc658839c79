// Files as only POSIX systems have them: named pipes, endless devices, names made of process numbers.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/input_file.h"
#include "base/output_file.h"
#include "base/status.h"
#include "fixtures/failure.h"
#include "fixtures/temporary_directory.h"

namespace skipstone {
namespace {

using fixtures::failure_of;

TEST(PosixFiles, PipesAndEndlessDevicesAreRefusedAtOnce) {
  const fixtures::TemporaryDirectory folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder.file("pipe"), std::string("/dev/zero")}) {
    EXPECT_EQ(failure_of([&] { InputFile{path}; }).code, Code::bad_file) << path;
    EXPECT_EQ(failure_of([&] { OutputFile{path}; }).code, Code::io) << path;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()), 1);
}

// In a container process numbers repeat: names made of them would be taken.
TEST(PosixFiles, NoNumberOfAProcessBlocksAName) {
  const fixtures::TemporaryDirectory folder;
  for (int n = 0; n < 1000; ++n) {
    std::ofstream(folder.file("a." + std::to_string(getpid()) + "." + std::to_string(n) + ".tmp")) << "left over";
  }
  EXPECT_EQ(failure_of([&] { write_whole_file(folder.file("a"), std::as_bytes(std::span(std::string_view("whole")))); }).message, "");
  EXPECT_EQ(fixtures::bytes_of(folder.file("a")), "whole");
}

}  // namespace
}  // namespace skipstone
