// Damaged and malicious files: each opens and is then readable to its last byte, or is refused with an Error and a sentence.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/philox.h"
#include "base/status.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "gguf/gguf.h"

namespace {
std::size_t largest_request = 0;  // of memory, since it was last set to 0
}

// A count that is believed before it is checked shows as a huge request; the tests watch for it.
// Not inlined, or the compiler sees free() take what it believes the usual operator new returned.
[[gnu::noinline]] void* operator new(std::size_t size) {
  largest_request = std::max(largest_request, size);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace skipstone::gguf {
namespace {

/// GGUF put together by hand, so that every field can lie.
class Raw {
 public:
  Raw& text(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  template <typename T>
  Raw& put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Raw& u32(std::uint32_t value) { return put(value); }
  Raw& u64(std::uint64_t value) { return put(value); }
  Raw& string(std::string_view content) { return u64(content.size()).text(content); }
  Raw& header(std::uint64_t tensors, std::uint64_t pairs) { return text("GGUF").u32(3).u64(tensors).u64(pairs); }
  Raw& tensor(std::string_view name, std::vector<std::uint64_t> shape, std::uint32_t type, std::uint64_t offset) {
    string(name).u32(static_cast<std::uint32_t>(shape.size()));
    for (const std::uint64_t size : shape) u64(size);
    return u32(type).u64(offset);
  }
  Raw& data(std::size_t count) {
    bytes_.resize((bytes_.size() + 31) / 32 * 32 + count);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Hostile : public ::testing::Test {
 protected:
  /// ok, or the code it was refused with. Anything but an Error with a sentence fails the test.
  Code open(const std::string& bytes, const std::string& what) {
    const std::string path = directory.file("m.gguf");
    std::filesystem::remove(path);  // some file systems flush to the disk where a file is truncated and written again
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    largest_request = 0;
    try {
      const File file = File::open(path);
      EXPECT_LE(largest_request, 16 * bytes.size() + 65536) << what;
      read_everything(file, bytes.size(), what);
      ++opened;
      message.clear();
      return Code::ok;
    } catch (const Error& error) {
      EXPECT_LE(largest_request, 16 * bytes.size() + 65536) << what;
      message = error.what();
      // File name, then a sentence.
      EXPECT_EQ(message.find(path + ": "), 0u) << what << ": " << message;
      EXPECT_GT(message.size(), path.size() + 20) << what;
      EXPECT_EQ(escaped(message), message) << what << ": a message may not carry control characters or damaged UTF-8";
      EXPECT_TRUE(error.code() == Code::bad_file || error.code() == Code::unsupported || error.code() == Code::not_found)
          << what << message;
      ++refused;
      return error.code();
    } catch (const std::exception& other) {
      ADD_FAILURE() << what << ": not an Error but " << other.what();
      return Code::internal;
    }
  }

  static void read_everything(const File& file, std::size_t file_size, const std::string& what) {
    std::uint64_t bytes = 0;
    unsigned sum = 0;
    for (const Tensor& tensor : file.tensors()) {
      EXPECT_EQ(tensor.data.size(), tensor.rows() * row_bytes(tensor.type, tensor.row_length())) << what;
      for (const std::byte b : tensor.data.all()) sum += std::to_integer<unsigned>(b);
      bytes += tensor.data.size();
      EXPECT_EQ(file.find_tensor(tensor.name), &tensor) << what;
    }
    EXPECT_LE(bytes, file_size) << what;
    for (const Pair& pair : file.metadata()) {
      sum += static_cast<unsigned>(to_display(pair.value).size() + type_name(pair.value).size());
      EXPECT_EQ(file.find(pair.key), &pair.value) << what;
    }
    EXPECT_EQ(file.fingerprint().size(), 16u) << what << sum;
  }

  void refuse(const Raw& raw, Code code, std::string_view part_of_message) {
    EXPECT_EQ(open(raw.bytes(), std::string(part_of_message)), code) << message;
    EXPECT_NE(message.find(part_of_message), std::string::npos) << message << " should say " << part_of_message;
  }

  /// A small model, and where its tensors' data begins.
  void make_model() {
    const std::string path = directory.file("whole.gguf");
    fixtures::write_tiny_model({.layers = 1, .dim = 32, .heads = 2, .kv_heads = 1, .ffn = 32, .context = 64, .tied = true}, path);
    std::ifstream in(path, std::ios::binary);
    model.assign(std::istreambuf_iterator<char>(in), {});
    std::size_t data = 0;
    const File file = File::open(path);
    for (const Tensor& tensor : file.tensors()) data += tensor.data.size();  // all are multiples of the alignment
    header_size = model.size() - data;
    ASSERT_EQ(open(model, "the whole model"), Code::ok) << message;
    opened = refused = 0;
  }

  std::uint32_t random(std::uint32_t counter) const { return philox({counter, 0, 0, 0}, {2024, 7})[0]; }

  fixtures::TemporaryDirectory directory;
  std::string model;
  std::size_t header_size = 0;
  std::string message;
  int opened = 0, refused = 0;
};

TEST_F(Hostile, Truncated) {
  make_model();
  std::vector<std::size_t> lengths;
  for (std::size_t n = 0; n < 200; ++n) lengths.push_back(n);
  for (std::size_t n = 200; n < model.size(); n += 191) lengths.push_back(n);
  for (std::size_t n = header_size - 40; n < header_size + 40; ++n) lengths.push_back(n);
  lengths.push_back(model.size() - 1);
  for (const std::size_t n : lengths) EXPECT_NE(open(model.substr(0, n), "cut to " + std::to_string(n)), Code::ok);
  EXPECT_GT(lengths.size(), 400u);
}

TEST_F(Hostile, FlippedBits) {
  make_model();
  for (std::size_t bit = 0; bit < 24 * 8; ++bit) {  // magic, version, counts
    std::string bytes = model;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    const Code code = open(bytes, "bit " + std::to_string(bit));
    // Version 2 reads the same, and a smaller count leaves a smaller model; the magic number allows nothing.
    if (bit < 32) {
      EXPECT_NE(code, Code::ok);
    }
  }
  for (std::uint32_t i = 0; i < 600; ++i) {
    // The tokens make up most of the header; half the flips go to the fields before and the tensor table after them.
    const std::size_t range = 1200;
    std::size_t at = random(2 * i) % (i % 2 == 0 ? header_size : range);
    if (i % 4 == 3) at = header_size - 1 - at;
    std::string bytes = model;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random(2 * i + 1) % 8));
    open(bytes, "flip " + std::to_string(i) + " at " + std::to_string(at));
  }
  EXPECT_GT(opened, 50);  // flips in names and values do no harm
  EXPECT_GT(refused, 300);
}

TEST_F(Hostile, HostileNumbersAnywhere) {
  make_model();
  constexpr std::array<std::uint64_t, 8> numbers = {0,          1,          0x7fffffffu,         0xffffffffu,
                                                    1ull << 32, 1ull << 63, 0x7fffffffffffffffu, 0xffffffffffffffffu};
  for (std::size_t at = 4; at + 8 <= header_size; at += at < 900 || at > header_size - 900 ? 3 : 97) {
    const std::uint64_t number = numbers[random(static_cast<std::uint32_t>(at)) % numbers.size()];
    for (const std::size_t width : {std::size_t{4}, std::size_t{8}}) {
      std::string bytes = model;
      std::memcpy(&bytes[at], &number, width);
      open(bytes, std::to_string(number) + " at " + std::to_string(at));
    }
  }
  EXPECT_GT(opened + refused, 800);
}

TEST_F(Hostile, Garbage) {
  for (std::uint32_t i = 0; i < 200; ++i) {
    Raw raw;
    raw.header(random(i) % 4, random(i + 1000) % 4);
    for (std::uint32_t j = 0; j < 64; ++j) raw.u32(random(5000 + i * 64 + j) >> (random(j) % 32));
    open(raw.bytes(), "garbage " + std::to_string(i));
  }
}

TEST_F(Hostile, Counts) {
  for (const std::uint64_t count : {std::uint64_t{1} << 20, std::uint64_t{1} << 32, std::uint64_t{1} << 63, UINT64_MAX}) {
    refuse(Raw().header(count, 0).data(256), Code::bad_file, "the number of tensors");
    refuse(Raw().header(0, count).data(256), Code::bad_file, "the number of metadata entries");
    refuse(Raw().header(0, 1).u64(count).text("key").data(256), Code::bad_file, "a metadata key");
    refuse(Raw().header(0, 1).string("k").u32(8).u64(count).data(256), Code::bad_file, "metadata 'k'");
    for (const std::uint32_t element : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 10u, 11u, 12u}) {
      refuse(Raw().header(0, 1).string("k").u32(9).u32(element).u64(count).data(256), Code::bad_file, "metadata 'k'");
    }
    refuse(Raw().header(1, 0).u64(count).text("name").data(256), Code::bad_file, "a tensor's name");
    refuse(Raw().header(1, 0).string("t").u32(static_cast<std::uint32_t>(count | 5)).data(256), Code::bad_file, "dimensions");
  }
  EXPECT_EQ(open(Raw().header(0, 0).bytes(), "empty"), Code::ok);
}

TEST_F(Hostile, Metadata) {
  refuse(Raw().header(0, 1).string("k").u32(13).data(64), Code::bad_file, "value type 13");
  refuse(Raw().header(0, 1).string("k").u32(9).u32(13).u64(1).data(64), Code::bad_file, "value type 13");
  refuse(Raw().header(0, 1).string("k").u32(9).u32(9).u64(1).u32(4).u64(1).data(64), Code::unsupported, "array of arrays");
  refuse(Raw().header(0, 1).string("k").u32(7).put(std::uint8_t{2}).data(64), Code::bad_file, "neither true nor false");
  refuse(Raw().header(0, 1).string("k").u32(9).u32(7).u64(3).text("\1\1\7").data(64), Code::bad_file, "neither true nor false");
  refuse(Raw().header(0, 2).string("k").u32(4).u32(1).string("k").u32(4).u32(2).data(64), Code::bad_file, "'k' is there twice");
  refuse(Raw().header(0, 1).string("").u32(4).u32(1).data(64), Code::bad_file, "is empty");
  refuse(Raw().header(0, 1).string(std::string(65536, 'k')).u32(4).u32(1).data(64), Code::bad_file, "65536 bytes");
  refuse(Raw().header(0, 1).string(std::string("\x1b[2J\0\xff", 6)).u32(99).data(64), Code::bad_file, "'\\u{1b}[2J\\u{0}\\xff'");
  EXPECT_EQ(open(Raw().header(0, 1).string(std::string("\x1b[2J\0\xff", 6)).u32(8).string("\xff\xfe\n").bytes(), "odd"), Code::ok);
}

TEST_F(Hostile, Alignment) {
  const auto with = [](std::uint32_t type, auto value) {
    return Raw().header(1, 1).string("general.alignment").u32(type).put(value).tensor("t", {8}, 0, 0).data(4096);
  };
  for (const std::uint32_t bad : {0u, 1u, 4u, 12u, 33u, 1u << 21, 1u << 31, UINT32_MAX}) {
    refuse(with(4, bad), Code::bad_file, "general.alignment");
  }
  refuse(with(6, 32.0f), Code::bad_file, "general.alignment");
  refuse(with(10, std::uint64_t{32}), Code::bad_file, "general.alignment");
  for (const std::uint32_t good : {8u, 32u, 64u, 2048u}) EXPECT_EQ(open(with(4, good).bytes(), "alignment"), Code::ok) << message;
}

TEST_F(Hostile, Shapes) {
  const auto with = [](std::vector<std::uint64_t> shape, std::uint32_t type = 0) {
    return Raw().header(1, 0).tensor("t", std::move(shape), type, 0).data(256);
  };
  EXPECT_EQ(open(with({64}).bytes(), "fits exactly"), Code::ok) << message;
  EXPECT_EQ(open(with({4, 4, 2, 2}).bytes(), "four dimensions"), Code::ok) << message;
  refuse(with({65}), Code::bad_file, "takes 260 bytes");
  refuse(with({}), Code::bad_file, "0 dimensions");
  refuse(with({1, 1, 1, 1, 1}), Code::bad_file, "5 dimensions");
  refuse(with({0}), Code::bad_file, "no weights");
  refuse(with({8, 0}), Code::bad_file, "no weights");
  refuse(with({1ull << 32, 1ull << 32}), Code::bad_file, "than can be counted");  // 2^64: 0 where it wraps
  refuse(with({1ull << 31, 1ull << 31, 4}), Code::bad_file, "than can be counted");
  refuse(with({1ull << 62}), Code::bad_file, "more bytes than can be counted");  // 2^62 floats: 2^64 bytes
  refuse(with({UINT64_MAX}), Code::bad_file, "than can be counted");
  refuse(with({(1ull << 62) + 16, 1, 1, 1}), Code::bad_file, "more bytes than can be counted");
  refuse(with({16}, 2), Code::bad_file, "blocks of 32 of Q4_0");
  refuse(with({33, 32}, 8), Code::bad_file, "blocks of 32 of Q8_0");
  refuse(with({128}, 12), Code::bad_file, "blocks of 256 of Q4_K");
}

TEST_F(Hostile, Types) {
  const auto with = [](std::uint32_t type) { return Raw().header(1, 0).tensor("t", {256}, type, 0).data(4096); };
  for (const Traits& t : all_traits()) {
    if (t.removed) {
      refuse(with(static_cast<std::uint32_t>(t.type)), Code::unsupported, t.name);
    } else {
      EXPECT_EQ(open(with(static_cast<std::uint32_t>(t.type)).bytes(), std::string(t.name)), Code::ok) << message;
    }
  }
  for (const std::uint32_t unknown : {static_cast<std::uint32_t>(all_traits().size()), 1000u, 1u << 31, UINT32_MAX}) {
    refuse(with(unknown), Code::unsupported, "type number " + std::to_string(unknown));
  }
}

TEST_F(Hostile, Offsets) {
  const auto with = [](std::uint64_t a, std::uint64_t b) {
    return Raw().header(2, 0).tensor("a", {16}, 0, a).tensor("b", {8}, 0, b).data(128);
  };
  EXPECT_EQ(open(with(0, 64).bytes(), "in order"), Code::ok) << message;
  EXPECT_EQ(open(with(64, 0).bytes(), "out of order"), Code::ok) << message;
  EXPECT_EQ(open(with(32, 96).bytes(), "to the last byte"), Code::ok) << message;
  refuse(with(0, 32), Code::bad_file, "overlap");
  refuse(with(64, 64), Code::bad_file, "overlap");
  refuse(with(0, 128), Code::bad_file, "takes 32 bytes at offset 128");
  refuse(with(96, 0), Code::bad_file, "takes 64 bytes at offset 96");
  refuse(with(0, 65), Code::bad_file, "no multiple of the alignment");
  for (const std::uint64_t far : {std::uint64_t{1} << 32, std::uint64_t{1} << 63, UINT64_MAX - 31}) {
    refuse(with(0, far), Code::bad_file, "tensor 'b' takes 32 bytes");
  }
  refuse(Raw().header(2, 0).tensor("a", {8}, 0, 0).tensor("a", {8}, 0, 32).data(64), Code::bad_file, "'a' is there twice");
  refuse(Raw().header(1, 0).tensor("", {8}, 0, 0).data(64), Code::bad_file, "is empty");
}

TEST_F(Hostile, SplitKeys) {
  const auto with = [](std::uint32_t type, auto count) {
    return Raw().header(0, 2).string("split.count").u32(type).put(count).string("split.no").u32(2).put(std::uint16_t{0});
  };
  EXPECT_EQ(open(with(2, std::uint16_t{1}).bytes(), "one of one"), Code::ok) << message;
  EXPECT_EQ(open(with(2, std::uint16_t{0}).bytes(), "one of none"), Code::ok) << message;
  refuse(with(2, std::uint16_t{2}), Code::bad_file, "one of 2 parts");
  refuse(with(10, UINT64_MAX), Code::bad_file, "parts of a split model");
  refuse(with(5, std::int32_t{-1}), Code::bad_file, "negative");
  refuse(with(6, 2.0f), Code::bad_file, "should be an integer");
}

}  // namespace
}  // namespace skipstone::gguf
