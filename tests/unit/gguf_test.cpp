// What is written comes back; real models have what they should; look-ups, displays, split models, failing disks.
#include "gguf/gguf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/writer.h"

namespace skipstone::gguf {
namespace {

using fixtures::TemporaryDirectory;
using fixtures::TinyConfig;
using fixtures::write_tiny_model;

struct Failure {
  Code code = Code::ok;
  std::string message;
};

Failure failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename T>
Value array(std::vector<T> items) {
  return std::make_shared<const Array>(Array{std::move(items)});
}

/// Equality that looks into arrays, which Value holds by pointer.
bool same(const Value& a, const Value& b) {
  const auto* x = std::get_if<std::shared_ptr<const Array>>(&a);
  const auto* y = std::get_if<std::shared_ptr<const Array>>(&b);
  if (x != nullptr && y != nullptr) return (*x)->items == (*y)->items;
  return a == b;
}

std::vector<Pair> every_kind_of_value() {
  using namespace std::string_literals;
  return {{"u8", std::uint8_t{255}},
          {"i8", std::int8_t{-128}},
          {"u16", std::uint16_t{65535}},
          {"i16", std::int16_t{-32768}},
          {"u32", std::uint32_t{4000000000u}},
          {"i32", std::int32_t{-2000000000}},
          {"f32", 0.1f},
          {"bool", true},
          {"no", false},
          {"string", "h\xc3\xa9llo"s},
          {"empty string", ""s},
          {"odd string", "a\0b\xff\n"s},
          {"u64", std::uint64_t{UINT64_MAX}},
          {"i64", std::int64_t{INT64_MIN}},
          {"f64", 0.1},
          {"au8", array<std::uint8_t>({1, 255})},
          {"ai8", array<std::int8_t>({-1, 127})},
          {"au16", array<std::uint16_t>({1, 65535})},
          {"ai16", array<std::int16_t>({-1, 32767})},
          {"au32", array<std::uint32_t>({1, UINT32_MAX})},
          {"ai32", array<std::int32_t>({INT32_MIN, 0, INT32_MAX})},
          {"af32", array<float>({-0.5f, 1e30f})},
          {"abool", array<bool>({true, false, true})},
          {"astring", array<std::string>({"", "x", "\xe2\x96\x81y"})},
          {"au64", array<std::uint64_t>({0, UINT64_MAX})},
          {"ai64", array<std::int64_t>({INT64_MIN, INT64_MAX})},
          {"af64", array<double>({-0.5, 1e300})},
          {"empty array", array<std::int32_t>({})}};
}

TEST(Gguf, EveryKindOfValueComesBack) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("values.gguf");
  Writer writer;
  const auto values = every_kind_of_value();
  for (const Pair& pair : values) writer.set(pair.key, pair.value);
  writer.write(path);

  const File file = File::open(path);
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.file_bytes(), std::filesystem::file_size(path));
  ASSERT_EQ(file.metadata().size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(file.metadata()[i].key, values[i].key);
    EXPECT_EQ(file.metadata()[i].value.index(), values[i].value.index()) << values[i].key;
    EXPECT_TRUE(same(file.metadata()[i].value, values[i].value)) << values[i].key;
    EXPECT_EQ(file.find(values[i].key), &file.metadata()[i].value);
  }
  EXPECT_TRUE(file.tensors().empty());

  Writer again;
  for (const Pair& pair : file.metadata()) again.set(pair.key, pair.value);
  again.write(directory.file("again.gguf"));
  EXPECT_EQ(bytes_of(path), bytes_of(directory.file("again.gguf")));
}

// The numbers in the file are the specification's, not merely what reader and writer agree on.
TEST(Gguf, BytesAreThoseOfTheSpecification) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("one.gguf");
  Writer writer;
  writer.set("k", std::uint16_t{0x1234});
  writer.set("a", array<std::int64_t>({-2}));
  const std::array<std::uint64_t, 2> shape{2, 1};
  writer.add_tensor("t", Type::f16, shape, std::array<float, 2>{1.0f, -2.0f});
  writer.write(path);
  using namespace std::string_literals;
  const std::string header = "GGUF\3\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"s + "\1\0\0\0\0\0\0\0k\2\0\0\0\x34\x12"s +
                             "\1\0\0\0\0\0\0\0a\x09\0\0\0\x0b\0\0\0\1\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff"s +
                             "\1\0\0\0\0\0\0\0t\2\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0"s;
  const std::string padding((32 - header.size() % 32) % 32, '\0');
  EXPECT_EQ(bytes_of(path), header + padding + "\x00\x3c\x00\xc0"s + std::string(28, '\0'));
}

TEST(Gguf, TensorsComeBackAlignedAndExact) {
  const TemporaryDirectory directory;
  for (const std::uint32_t alignment : {8u, 32u, 4096u}) {
    const std::string path = directory.file("tensors.gguf");
    Writer writer;
    writer.set("general.alignment", alignment);
    std::vector<float> weights(3 * 64);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) - 90.0f;
    const std::vector<Type> types = {Type::f32, Type::f16, Type::bf16, Type::q8_0, Type::q4_0};
    for (const Type type : types) {
      writer.add_tensor(std::string(traits(type).name), type, std::array<std::uint64_t, 2>{64, 3}, std::span<const float>(weights));
    }
    const std::vector<std::byte> raw(2 * 144, std::byte{0x5a});  // a type that we cannot compute with passes through all the same
    writer.add_tensor("k-quant", static_cast<Type>(12), std::array<std::uint64_t, 4>{256, 1, 2, 1}, std::span<const std::byte>(raw));
    writer.write(path);

    const File file = File::open(path);
    ASSERT_EQ(file.tensors().size(), types.size() + 1);
    for (const Type type : types) {
      const Tensor* tensor = file.find_tensor(traits(type).name);
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->type, type);
      EXPECT_EQ(tensor->dimensions, 2u);
      EXPECT_EQ(tensor->shape, (std::array<std::uint64_t, 4>{64, 3, 1, 1}));
      EXPECT_EQ(tensor->data.size(), 3 * row_bytes(type, 64));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data.data()) % alignment, 0u);
      std::vector<std::byte> wanted(3 * row_bytes(type, 64));
      quantize(type, weights, wanted);
      EXPECT_EQ(std::memcmp(tensor->data.data(), wanted.data(), wanted.size()), 0);
    }
    const Tensor* last = file.find_tensor("k-quant");
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(last->dimensions, 4u);
    EXPECT_EQ(last->elements(), 512u);
    EXPECT_EQ(last->rows(), 2u);
    EXPECT_EQ(std::memcmp(last->data.data(), raw.data(), raw.size()), 0);
    EXPECT_EQ(file.find_tensor("absent"), nullptr);
  }
}

TEST(Gguf, Version2ReadsLikeVersion3) {
  const TemporaryDirectory directory;
  write_tiny_model({.layers = 1}, directory.file("v3.gguf"));
  std::string bytes = bytes_of(directory.file("v3.gguf"));
  bytes[4] = 2;
  std::ofstream(directory.file("v2.gguf"), std::ios::binary) << bytes;
  const File file = File::open(directory.file("v2.gguf"));
  EXPECT_EQ(file.version(), 2u);
  EXPECT_EQ(file.required_integer("llama.block_count"), 1u);
}

TEST(Gguf, FilesMove) {
  const TemporaryDirectory directory;
  write_tiny_model({.layers = 1}, directory.file("a.gguf"));
  write_tiny_model({.layers = 2}, directory.file("b.gguf"));
  File a = File::open(directory.file("a.gguf"));
  const Tensor* tensor = a.find_tensor("output_norm.weight");
  File moved = std::move(a);
  EXPECT_EQ(moved.find_tensor("output_norm.weight"), tensor);
  moved = File::open(directory.file("b.gguf"));
  EXPECT_EQ(moved.required_integer("llama.block_count"), 2u);
  EXPECT_EQ(moved.path(), directory.file("b.gguf"));
}

TEST(Gguf, LookUps) {
  const TemporaryDirectory directory;
  Writer writer;
  for (const Pair& pair : every_kind_of_value()) writer.set(pair.key, pair.value);
  writer.write(directory.file("v.gguf"));
  const File file = File::open(directory.file("v.gguf"));

  EXPECT_EQ(file.integer("u8", 7), 255u);
  EXPECT_EQ(file.integer("u64", 7), UINT64_MAX);
  EXPECT_EQ(file.integer("bool", 7), 1u);
  EXPECT_EQ(file.integer("absent", 7), 7u);
  EXPECT_EQ(file.required_integer("u16"), 65535u);
  EXPECT_EQ(file.number("f32", 0), static_cast<double>(0.1f));
  EXPECT_EQ(file.number("f64", 0), 0.1);
  EXPECT_EQ(file.number("i8", 0), -128.0);
  EXPECT_EQ(file.number("absent", 2.5), 2.5);
  EXPECT_TRUE(file.boolean("bool", false));
  EXPECT_FALSE(file.boolean("no", true));
  EXPECT_TRUE(file.boolean("absent", true));
  EXPECT_EQ(file.string("string", "z"), "h\xc3\xa9llo");
  EXPECT_EQ(file.string("absent", "z"), "z");
  ASSERT_NE(file.strings("astring"), nullptr);
  EXPECT_EQ(file.strings("astring")->size(), 3u);
  EXPECT_EQ(file.strings("absent"), nullptr);
  EXPECT_EQ(file.floats("af64"), (std::vector<float>{-0.5f, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(file.floats("ai8"), (std::vector<float>{-1.0f, 127.0f}));
  EXPECT_TRUE(file.floats("absent").empty());
  EXPECT_EQ(file.integers("ai32"), (std::vector<std::int32_t>{INT32_MIN, 0, INT32_MAX}));
  EXPECT_EQ(file.integers("abool"), (std::vector<std::int32_t>{1, 0, 1}));
  EXPECT_TRUE(file.integers("absent").empty());

  const std::vector<std::function<void()>> wrong = {[&] { file.integer("i8", 0); },
                                                    [&] { file.integer("f32", 0); },
                                                    [&] { file.integer("string", 0); },
                                                    [&] { file.integer("ai32", 0); },
                                                    [&] { file.number("string", 0); },
                                                    [&] { file.number("bool", 0); },
                                                    [&] { file.boolean("u8", false); },
                                                    [&] { file.boolean("f32", false); },
                                                    [&] { file.string("u8", ""); },
                                                    [&] { file.strings("ai32"); },
                                                    [&] { file.strings("string"); },
                                                    [&] { file.floats("astring"); },
                                                    [&] { file.floats("f32"); },
                                                    [&] { file.integers("au32"); },
                                                    [&] { file.integers("af32"); },
                                                    [&] { file.integers("i32"); },
                                                    [&] { file.integers("astring"); },
                                                    [&] { file.required_integer("absent"); },
                                                    [&] { file.required_integer("string"); }};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const Failure failure = failure_of(wrong[i]);
    EXPECT_EQ(failure.code, Code::bad_file) << i;
    EXPECT_NE(failure.message.find("v.gguf: metadata '"), std::string::npos) << failure.message;
  }
  const std::string message = failure_of([&] { file.string("ai32", ""); }).message;
  EXPECT_NE(message.find("'ai32' should be a string, but is array of 3 int32"), std::string::npos) << message;
}

TEST(Gguf, Display) {
  using namespace std::string_literals;
  EXPECT_EQ(to_display(std::uint8_t{65}), "65");
  EXPECT_EQ(to_display(std::int8_t{-3}), "-3");
  EXPECT_EQ(to_display(true), "true");
  EXPECT_EQ(to_display(1e-5f), "1e-05");
  EXPECT_EQ(to_display("plain \xe2\x96\x81 text"s), "plain \xe2\x96\x81 text");
  EXPECT_EQ(to_display("a\0b\n\x1b[31m\xff\xc2\x85\xe2\x80\xae"s), "a\\u{0}b\\n\\u{1b}[31m\\xff\\u{85}\\u{202e}");
  // Overlong, surrogate, beyond the last code point, cut off.
  EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(escaped("x\xe2\x96"), "x\\xe2\\x96");
  EXPECT_EQ(escaped("\xf0\x9f\xaa\xa8"), "\xf0\x9f\xaa\xa8");
  EXPECT_EQ(to_display(array<std::int32_t>({1, 2, 3})), "[1, 2, 3]");
  EXPECT_EQ(to_display(array<bool>({true, false})), "[true, false]");
  EXPECT_EQ(to_display(array<std::string>({"<s>", "\n"})), "[\"<s>\", \"\\n\"]");
  EXPECT_EQ(to_display(array<std::uint8_t>(std::vector<std::uint8_t>(1000, 9))), "[9, 9, 9, 9, 9, 9, ...] (1000 items)");
  EXPECT_EQ(to_display(array<float>({})), "[]");
  EXPECT_EQ(to_display(std::shared_ptr<const Array>()), "[]");

  std::string umlauts;
  for (int i = 0; i < 300; ++i) umlauts += "\xc3\xa4";
  for (const std::string& text : {umlauts, "x" + umlauts}) {
    const std::string shown = to_display(text);
    EXPECT_LT(shown.size(), 300u);
    EXPECT_EQ(shown.find('\\'), std::string::npos) << "cut inside a character: " << shown;
    EXPECT_NE(shown.find(std::to_string(text.size()) + " bytes"), std::string::npos);
  }
  EXPECT_LT(to_display(std::string(5000, '\x80')).size(), 1200u);
}

TEST(Gguf, Fingerprint) {
  const TemporaryDirectory directory;
  std::set<std::string> seen;
  const std::string path = directory.file("m.gguf");
  const auto print = [&] { return File::open(path).fingerprint(); };
  write_tiny_model({.layers = 1}, path);
  const std::string first = print();
  EXPECT_EQ(first.size(), 16u);
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef"), std::string::npos);
  std::filesystem::copy(path, directory.file("copy.gguf"));
  EXPECT_EQ(File::open(directory.file("copy.gguf")).fingerprint(), first);
  seen.insert(first);
  write_tiny_model({.layers = 1, .seed = 2}, path);
  seen.insert(print());
  write_tiny_model({.layers = 1, .rope_base = 20000.0f}, path);
  seen.insert(print());
  write_tiny_model({.layers = 2}, path);
  seen.insert(print());
  EXPECT_EQ(seen.size(), 4u);
}

/// Writes part `index` of `count` with one tensor of its own; the keys can be made to lie.
void write_part(const std::string& path, std::uint16_t index, std::uint16_t count, std::int32_t total, const std::string& tensor) {
  Writer writer;
  if (index == 0) writer.set("general.name", std::string("whole"));
  writer.set("split.no", index);
  writer.set("split.count", count);
  writer.set("split.tensors.count", total);
  const std::vector<float> weights(8, static_cast<float>(index));
  writer.add_tensor(tensor, Type::f32, std::array<std::uint64_t, 1>{8}, std::span<const float>(weights));
  writer.write(path);
}

class Split : public ::testing::Test {
 protected:
  std::string part(int number) const { return directory.file(fmt::format("m-{:05}-of-00003.gguf", number)); }
  void SetUp() override {
    for (std::uint16_t i = 0; i < 3; ++i) write_part(part(i + 1), i, 3, 3, fmt::format("t{}", i));
  }
  Failure open_failure(const std::string& path) const {
    return failure_of([&] { File::open(path); });
  }
  TemporaryDirectory directory;
};

TEST_F(Split, AnyPartOpensAll) {
  std::set<std::string> fingerprints;
  for (int number = 1; number <= 3; ++number) {
    const File file = File::open(part(number));
    EXPECT_EQ(file.string("general.name", ""), "whole");
    ASSERT_EQ(file.tensors().size(), 3u);
    for (int i = 0; i < 3; ++i) {
      const Tensor* tensor = file.find_tensor(fmt::format("t{}", i));
      ASSERT_NE(tensor, nullptr);
      std::vector<float> weights(8);
      dequantize(tensor->type, tensor->data, weights);
      EXPECT_EQ(weights, std::vector<float>(8, static_cast<float>(i)));
    }
    EXPECT_EQ(file.file_bytes(),
              std::filesystem::file_size(part(1)) + std::filesystem::file_size(part(2)) + std::filesystem::file_size(part(3)));
    fingerprints.insert(file.fingerprint());
  }
  EXPECT_EQ(fingerprints.size(), 1u);
}

TEST_F(Split, MissingPart) {
  std::filesystem::remove(part(2));
  const Failure failure = open_failure(part(1));
  EXPECT_EQ(failure.code, Code::not_found);
  EXPECT_NE(failure.message.find("m-00002-of-00003.gguf"), std::string::npos) << failure.message;
}

TEST_F(Split, NameWithoutNumbers) {
  std::filesystem::rename(part(1), directory.file("model.gguf"));
  const Failure failure = open_failure(directory.file("model.gguf"));
  EXPECT_EQ(failure.code, Code::bad_file);
  EXPECT_NE(failure.message.find("-of-00003.gguf"), std::string::npos) << failure.message;
}

TEST_F(Split, PartsThatDoNotBelong) {
  write_part(part(2), 0, 3, 3, "t1");  // says that it is the first
  EXPECT_EQ(open_failure(part(1)).code, Code::bad_file);
  write_part(part(2), 1, 4, 3, "t1");  // of four
  EXPECT_EQ(open_failure(part(1)).code, Code::bad_file);
  EXPECT_EQ(open_failure(part(2)).code, Code::bad_file);
  write_part(part(2), 1, 3, 3, "t0");  // the first part's tensor once more
  EXPECT_NE(open_failure(part(1)).message.find("'t0' is in two parts"), std::string::npos);
  write_tiny_model({.layers = 1}, part(2));  // not a part at all
  EXPECT_EQ(open_failure(part(1)).code, Code::bad_file);
}

TEST_F(Split, WrongTotal) {
  write_part(part(1), 0, 3, 4, "t0");
  const Failure failure = open_failure(part(1));
  EXPECT_EQ(failure.code, Code::bad_file);
  EXPECT_NE(failure.message.find("should have 4 tensors"), std::string::npos) << failure.message;
}

TEST(Open, WhatIsNoModel) {
  const TemporaryDirectory directory;
  const auto code = [](const std::string& path) {
    const Failure failure = failure_of([&] { File::open(path); });
    EXPECT_EQ(failure.message.find(path), 0u) << failure.message;
    return failure.code;
  };
  EXPECT_EQ(code(directory.file("absent.gguf")), Code::not_found);
  EXPECT_EQ(code(directory.path().string()), Code::bad_file);
  EXPECT_EQ(code("/dev/null"), Code::bad_file);
  const auto write = [&](const std::string& bytes) {
    std::ofstream(directory.file("x"), std::ios::binary) << bytes;
    return directory.file("x");
  };
  EXPECT_EQ(code(write("")), Code::bad_file);
  EXPECT_EQ(code(write("GG")), Code::bad_file);
  EXPECT_EQ(code(write("GGUF")), Code::bad_file);
  EXPECT_EQ(code(write("<html>not found</html>")), Code::bad_file);
  EXPECT_EQ(code(write("tjgg\3\0\0\0")), Code::unsupported);
  EXPECT_NE(failure_of([&] { File::open(write("version https://git-lfs.github.com/spec/v1\n")); }).message.find("git lfs pull"),
            std::string::npos);
  using namespace std::string_literals;
  const auto version = [&](const std::string& four) {
    return failure_of([&] { File::open(write("GGUF" + four + std::string(16, '\0'))); });
  };
  EXPECT_EQ(version("\3\0\0\0"s).code, Code::ok);
  for (const std::string& bad : {"\0\0\0\0"s, "\1\0\0\0"s, "\4\0\0\0"s, "\0\0\0\3"s, "\xff\xff\xff\xff"s}) {
    EXPECT_EQ(version(bad).code, Code::unsupported);
  }
  EXPECT_NE(version("\0\0\0\3"s).message.find("big-endian"), std::string::npos);
  EXPECT_NE(version("\1\0\0\0"s).message.find("version 1"), std::string::npos);
}

TEST(WriterChecks, RefusesWhatNoReaderWouldTake) {
  const TemporaryDirectory directory;
  Writer writer;
  const std::vector<float> weights(64);
  const std::span<const float> some(weights);
  using Shape = std::vector<std::uint64_t>;
  const auto add = [&](const char* name, Type type, const Shape& shape) {
    return failure_of([&] { writer.add_tensor(name, type, shape, some); }).code;
  };
  EXPECT_EQ(add("ok", Type::q4_0, {32, 2}), Code::ok);
  EXPECT_EQ(add("ok", Type::q4_0, {32, 2}), Code::invalid_argument);
  EXPECT_EQ(add("", Type::f32, {64}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::f32, {}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::f32, {64, 1, 1, 1, 1}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::f32, {0, 64}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::f32, {63}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::q4_0, {16, 4}), Code::invalid_argument);
  EXPECT_EQ(add("a", Type::f32, {UINT64_MAX / 4, 8}), Code::invalid_argument);
  EXPECT_EQ(add("a", static_cast<Type>(31), {64}), Code::invalid_argument);
  EXPECT_EQ(add("a", static_cast<Type>(12), {64}), Code::invalid_argument);
  EXPECT_EQ(failure_of([&] { writer.set("", true); }).code, Code::invalid_argument);
  for (const Value& bad : {Value(std::uint32_t{0}), Value(std::uint32_t{12}), Value(std::uint64_t{32}), Value(std::uint32_t{1u << 31})}) {
    writer.set("general.alignment", bad);
    EXPECT_EQ(failure_of([&] { writer.write(directory.file("x")); }).code, Code::invalid_argument);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(WriterChecks, LeavesNothingBehindWhereItCannotWrite) {
  const TemporaryDirectory directory;
  Writer writer;
  writer.set("general.name", std::string("x"));
  EXPECT_EQ(failure_of([&] { writer.write(directory.file("no/such/folder/m.gguf")); }).code, Code::io);
  EXPECT_EQ(failure_of([&] { writer.write(directory.path().string()); }).code, Code::io);
  EXPECT_EQ(failure_of([&] { writer.write("/dev/full"); }).code, Code::io);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// A disk that fills up on the way, in a child process so that the limit stays there.
TEST(WriterChecks, FullDiskKeepsTheOldFile) {
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

TEST(TinyModel, HasWhatItsConfigurationSays) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("tiny.gguf");
  for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::q8_0, Type::q4_0}) {
    write_tiny_model({.layers = 3, .head_dim = 32, .vocab = 512, .tied = false, .biases = true, .rope_freqs = true, .type = type}, path);
    const File file = File::open(path);
    EXPECT_EQ(file.string("general.architecture", ""), "llama");
    EXPECT_EQ(file.required_integer("llama.block_count"), 3u);
    EXPECT_EQ(file.required_integer("llama.rope.dimension_count"), 32u);
    ASSERT_NE(file.strings("tokenizer.ggml.tokens"), nullptr);
    const auto& tokens = *file.strings("tokenizer.ggml.tokens");
    EXPECT_EQ(tokens.size(), 512u);
    EXPECT_EQ(std::set<std::string>(tokens.begin(), tokens.end()).size(), 512u);
    EXPECT_EQ(file.floats("tokenizer.ggml.scores").size(), 512u);
    EXPECT_EQ(file.integers("tokenizer.ggml.token_type").size(), 512u);
    EXPECT_EQ(tokens[3 + 0x41], "<0x41>");
    const auto expect = [&](const char* name, std::uint64_t k, std::uint64_t n, Type wanted) {
      const Tensor* tensor = file.find_tensor(name);
      ASSERT_NE(tensor, nullptr) << name;
      EXPECT_EQ(tensor->shape, (std::array<std::uint64_t, 4>{k, n, 1, 1})) << name;
      EXPECT_EQ(tensor->type, wanted) << name;
    };
    expect("token_embd.weight", 64, 512, type);
    expect("output.weight", 64, 512, type);
    expect("blk.2.attn_q.weight", 64, 128, type);
    expect("blk.2.attn_k.weight", 64, 64, type);
    expect("blk.2.attn_output.weight", 128, 64, type);
    expect("blk.2.ffn_down.weight", 128, 64, type);
    expect("blk.2.attn_q.bias", 128, 1, Type::f32);
    expect("blk.0.attn_norm.weight", 64, 1, Type::f32);
    expect("rope_freqs.weight", 16, 1, Type::f32);
    EXPECT_EQ(file.tensors().size(), 4u + 3 * 13);
  }
  write_tiny_model({}, path);
  const std::string once = bytes_of(path);
  EXPECT_EQ(File::open(path).find_tensor("output.weight"), nullptr);
  write_tiny_model({}, path);
  EXPECT_EQ(bytes_of(path), once) << "the same configuration has to give the same bytes";
  EXPECT_EQ(failure_of([&] { write_tiny_model({.vocab = 10}, path); }).code, Code::invalid_argument);
  EXPECT_EQ(failure_of([&] { write_tiny_model({.heads = 5}, path); }).code, Code::invalid_argument);
}

TEST(RealModels, Stories260K) {
  const std::string path = SKIPSTONE_SHARED_DATA "/models/stories260K.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const File file = File::open(path);
  EXPECT_EQ(file.string("general.architecture", ""), "llama");
  EXPECT_EQ(file.required_integer("llama.block_count"), 5u);
  EXPECT_EQ(file.required_integer("llama.embedding_length"), 64u);
  EXPECT_EQ(file.required_integer("llama.attention.head_count"), 8u);
  EXPECT_EQ(file.required_integer("llama.attention.head_count_kv"), 4u);
  ASSERT_NE(file.strings("tokenizer.ggml.tokens"), nullptr);
  EXPECT_EQ(file.strings("tokenizer.ggml.tokens")->size(), 512u);
  EXPECT_EQ(file.floats("tokenizer.ggml.scores").size(), 512u);
  const Tensor* embedding = file.find_tensor("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->type, Type::f32);
  EXPECT_EQ(embedding->row_length(), 64u);
  EXPECT_EQ(embedding->rows(), 512u);
  std::uint64_t bytes = 0;
  for (const Tensor& tensor : file.tensors()) bytes += tensor.data.size();
  EXPECT_GT(bytes, file.file_bytes() * 9 / 10);
}

TEST(RealModels, Py20) {
  const std::string path = SKIPSTONE_SHARED_DATA "/models/py20-f16.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const File file = File::open(path);
  EXPECT_EQ(file.required_integer("llama.block_count"), 20u);
  std::size_t matrices = 0;
  for (const Tensor& tensor : file.tensors()) {
    if (tensor.dimensions == 1) {
      EXPECT_EQ(tensor.type, Type::f32) << tensor.name;
    } else {
      EXPECT_EQ(tensor.type, Type::f16) << tensor.name;
      ++matrices;
    }
    std::vector<float> weights(static_cast<std::size_t>(tensor.elements()));
    dequantize(tensor.type, tensor.data, weights);
    for (const float w : weights) ASSERT_TRUE(std::isfinite(w) && std::fabs(w) < 100.0f) << tensor.name;
  }
  EXPECT_GE(matrices, 20u * 7 + 1);
}

TEST(RealModels, VocabularyFiles) {
  std::size_t opened = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(SKIPSTONE_SHARED_DATA "/tokenizers", error)) {
    if (entry.path().extension() != ".gguf") continue;
    const File file = File::open(entry.path().string());
    ASSERT_NE(file.strings("tokenizer.ggml.tokens"), nullptr) << entry.path();
    EXPECT_GT(file.strings("tokenizer.ggml.tokens")->size(), 30000u) << entry.path();
    for (const Pair& pair : file.metadata()) EXPECT_FALSE(to_display(pair.value).empty() && type_name(pair.value) != "string") << pair.key;
    ++opened;
  }
  if (opened == 0) GTEST_SKIP() << "no vocabularies in " SKIPSTONE_SHARED_DATA "/tokenizers";
}

}  // namespace
}  // namespace skipstone::gguf
