// What is written comes back, byte for byte; look-ups, displays, fingerprints.
#include "gguf/gguf.h"

#include <gtest/gtest.h>

#include <array>
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
    const std::vector<Type> types = {Type::f32, Type::f16, Type::bf16, Type::q8_0, Type::q4_0, Type::q5_1};
    for (const Type type : types) {
      writer.add_tensor(std::string(traits(type).name), type, std::array<std::uint64_t, 2>{64, 3}, std::span<const float>(weights));
    }
    const std::vector<std::byte> raw(16 * 36, std::byte{0x5a});  // a type that we cannot compute with passes through all the same
    writer.add_tensor("q8_1", static_cast<Type>(9), std::array<std::uint64_t, 4>{256, 1, 2, 1}, std::span<const std::byte>(raw));
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
      std::vector<std::byte> wanted(3 * row_bytes(type, 64));
      quantize(type, weights, wanted);
      EXPECT_EQ(std::memcmp(tensor->data.all().data(), wanted.data(), wanted.size()), 0);
    }
    const Tensor* last = file.find_tensor("q8_1");
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(last->dimensions, 4u);
    EXPECT_EQ(last->elements(), 512u);
    EXPECT_EQ(last->rows(), 2u);
    EXPECT_EQ(std::memcmp(last->data.all().data(), raw.data(), raw.size()), 0);
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

TEST(Traits, RowBytes) {
  EXPECT_EQ(row_bytes(Type::q4_0, 64), 36u);
  EXPECT_EQ(row_bytes(Type::q8_0, 32), 34u);
  EXPECT_EQ(row_bytes(Type::f16, 7), 14u);
  EXPECT_EQ(row_bytes(Type::q4_k, 512), 288u);
  EXPECT_EQ(failure_of([] { row_bytes(Type::q4_0, 33); }).code, Code::invalid_argument);
  EXPECT_EQ(failure_of([] { row_bytes(Type::q4_k, 320); }).code, Code::invalid_argument);
  EXPECT_EQ(failure_of([] { row_bytes(Type::f32, UINT64_MAX / 2); }).code, Code::invalid_argument);
}

}  // namespace
}  // namespace skipstone::gguf
