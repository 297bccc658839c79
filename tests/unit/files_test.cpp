// Files that are read and written by name: what they are, what becomes of them meanwhile, and what a killed process leaves.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include "base/bytes.h"
#include "base/env.h"
#include "base/input_file.h"
#include "base/number.h"
#include "base/output_file.h"
#include "base/status.h"
#include "fixtures/failure.h"
#include "fixtures/process.h"
#include "fixtures/temporary_directory.h"

namespace skipstone {
namespace {

namespace fs = std::filesystem;
using fixtures::failure_of;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

class Files : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  fixtures::TemporaryDirectory folder_;
};

TEST_F(Files, InputIsReadByPlace) {
  write(file("a"), "0123456789");
  const auto input = std::make_shared<const InputFile>(file("a"));
  EXPECT_EQ(input->size(), 10u);
  std::string text(4, ' ');
  input->read(3, std::as_writable_bytes(std::span(text)));
  EXPECT_EQ(text, "3456");
  EXPECT_EQ(read_whole_file(file("a"), 10), "0123456789");
  EXPECT_EQ(failure_of([&] { read_whole_file(file("a"), 9); }).code, Code::bad_file);
  EXPECT_TRUE(Bytes(input, 2, 3) == Bytes(bytes_of("234")));
  EXPECT_FALSE(Bytes(input, 2, 3) == Bytes(bytes_of("235")));
  EXPECT_FALSE(Bytes(input, 2, 3) == Bytes(bytes_of("2345")));
  EXPECT_EQ(failure_of([&] { Bytes(input, 8, 3); }).code, Code::internal);
  std::vector<std::byte> buffer;
  EXPECT_EQ(failure_of([&] { Bytes(input, 2, 3).view(1, 3, buffer); }).code, Code::internal);
}

TEST_F(Files, PiecesAreWholeUnitsAndAllOfThem) {
  std::string text(1u << 20, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761u >> 24);
  write(file("a"), text);
  const auto input = std::make_shared<const InputFile>(file("a"));
  for (const std::uint64_t unit : {1u, 18u, 210u, 400000u}) {
    std::string seen;
    Bytes(input, 0, text.size()).for_each_piece(unit, [&](std::uint64_t at, std::span<const std::byte> piece) {
      EXPECT_EQ(at, seen.size());
      EXPECT_EQ(at % unit, 0u);
      seen.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    EXPECT_TRUE(seen == text) << unit;
  }
}

TEST_F(Files, AFileThatShrinksIsASentence) {
  write(file("a"), std::string(100000, 'x'));
  const InputFile input(file("a"));
  fs::resize_file(file("a"), 50000);
  std::vector<std::byte> bytes(100000);
  const auto failure = failure_of([&] { input.read(0, bytes); });
  EXPECT_EQ(failure.code, Code::bad_file);
  EXPECT_NE(failure.message.find("ends at byte 50000 of 100000 now"), std::string::npos) << failure.message;
}

TEST_F(Files, ADescriptorIsBorrowedAndAPartOfItsFileReadByPlace) {
  write(file("a"), "0123456789");
  std::optional<fixtures::Descriptor> opened(std::in_place, file("a"));
  const int descriptor = opened->number();
  {
    const InputFile part = InputFile::borrow(descriptor, 2, 5);
    EXPECT_EQ(part.size(), 5u);
    InputFile moved = InputFile::borrow(descriptor, 4, std::nullopt);
    EXPECT_EQ(moved.size(), 6u);
    moved = InputFile::borrow(descriptor, 10, std::nullopt);
    EXPECT_EQ(moved.size(), 0u);
    std::string text(3, ' ');
    part.read(2, std::as_writable_bytes(std::span(text)));
    EXPECT_EQ(text, "456");
    EXPECT_EQ(failure_of([&] { part.read(3, std::as_writable_bytes(std::span(text))); }).code, Code::internal) << "beyond the part";
    EXPECT_EQ(failure_of([&] { InputFile::borrow(descriptor, 11, std::nullopt); }).code, Code::invalid_argument);
    EXPECT_EQ(failure_of([&] { InputFile::borrow(descriptor, 6, 5); }).code, Code::invalid_argument);
  }
  EXPECT_EQ(opened->position(), 0) << "neither moved nor closed";
  opened.reset();
  EXPECT_EQ(failure_of([&] { InputFile::borrow(descriptor, 0, std::nullopt); }).code, Code::invalid_argument);
}

TEST_F(Files, MemoryIsReadLikeAFile) {
  const std::string bytes = "0123456789";
  const InputFile memory = InputFile::in_memory(bytes_of(bytes), "memory");
  std::string text(4, ' ');
  memory.read(6, std::as_writable_bytes(std::span(text)));
  EXPECT_EQ(text, "6789");
  EXPECT_EQ(failure_of([&] { memory.read(7, std::as_writable_bytes(std::span(text))); }).code, Code::internal);
  EXPECT_EQ(memory.path(), "memory");
}

TEST_F(Files, DevicesAndFoldersAreRefusedAtOnce) {
  for (const std::string& path : {std::string(fixtures::null_device), fixtures::text_of(folder_.path())}) {
    EXPECT_EQ(failure_of([&] { InputFile{path}; }).code, Code::bad_file) << path;
    EXPECT_EQ(failure_of([&] { OutputFile{path}; }).code, Code::io) << path;
  }
  EXPECT_EQ(failure_of([&] { InputFile{file("nothing")}; }).code, Code::not_found);
  EXPECT_EQ(files_in(folder_.path()), 0u);
}

TEST_F(Files, OutputStandsWhenItIsFinished) {
  write(file("a"), "before");
  {
    OutputFile output(file("a"));
    output.write(bytes_of("af"));
    EXPECT_EQ(fixtures::bytes_of(file("a")), "before");
  }
  EXPECT_EQ(fixtures::bytes_of(file("a")), "before") << "it was not finished";
  EXPECT_EQ(files_in(folder_.path()), 1u);
  write_whole_file(file("a"), bytes_of("after"));
  EXPECT_EQ(fixtures::bytes_of(file("a")), "after");
  EXPECT_EQ(files_in(folder_.path()), 1u);
}

/// This program once more: what it does there is in the test below.
void write_and_be_killed(const std::string& path) {
  fixtures::Process child({.program = SKIPSTONE_TEST_PROGRAM,
                           .arguments = {"--gtest_filter=Killed.WritesUntilThen"},
                           .environment = {{"SKIPSTONE_TEST_WRITE_UNTIL_KILLED", path}}});
  child.give_input("");
  std::string out, error;
  while (out.find("half is written") == std::string::npos) ASSERT_TRUE(child.read(out, error, -1)) << out << error;
  child.kill();
  EXPECT_EQ(child.wait().code, -1);
}

TEST(Killed, WritesUntilThen) {
  const std::optional<std::string> path = env::get("SKIPSTONE_TEST_WRITE_UNTIL_KILLED");
  if (!path) return;
  OutputFile output(*path);
  output.write(bytes_of("half"));
  std::printf("half is written\n");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::minutes(5));
}

TEST_F(Files, WhatAKilledProcessLeftIsRemovedByTheNext) {
  for (int i = 0; i < 3; ++i) write_and_be_killed(file("model.gguf"));
  EXPECT_EQ(files_in(folder_.path()), 1u) << "each removes what the one before it left";
  write(file("other.gguf.0123456789abcdef.tmp"), "of another file");
  write(file("model.gguf.backup.tmp"), "no name of ours");
  write_whole_file(file("model.gguf"), bytes_of("whole"));
  EXPECT_EQ(fixtures::bytes_of(file("model.gguf")), "whole");
  EXPECT_EQ(files_in(folder_.path()), 3u);
}

TEST_F(Files, TwoWritersOfOneFileLeaveEachOtherInPeace) {
  OutputFile first(file("a"));
  first.write(bytes_of("first"));
  OutputFile second(file("a"));
  second.write(bytes_of("second"));
  first.finish();
  EXPECT_EQ(fixtures::bytes_of(file("a")), "first");
  second.finish();
  EXPECT_EQ(fixtures::bytes_of(file("a")), "second");
  EXPECT_EQ(files_in(folder_.path()), 1u);
}

TEST(Number, IsDecimalAndFits) {
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(parse_number<std::int32_t>("-7"), -7);
  EXPECT_EQ(parse_number<std::uint32_t>("010"), 10u);
  EXPECT_EQ(parse_number<double>("0.25"), 0.25);
  for (const char* text : {"18446744073709551616", "-1", "+1", " 1", "1 ", "", "0x10", "1e3", "1.0", "١"}) {
    EXPECT_FALSE(parse_number<std::uint64_t>(text)) << text;
  }
  for (const char* text : {"", "x", "1x", "1e999", "0.5 "}) EXPECT_FALSE(parse_number<double>(text)) << text;
}

}  // namespace
}  // namespace skipstone
