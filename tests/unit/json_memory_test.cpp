// Documents of JSON when memory runs out: what is asked for fails as an exception, and destroying them asks for nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "json/json.h"
#include "json/parse_json.h"

namespace {

std::size_t requests = 0, fail_at = 0;  // 0: none fails

}  // namespace

// Not inlined, or the compiler sees free() take what it believes the usual operator new returned.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* memory = ++requests == fail_at ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace skipstone {
namespace {

template <typename Document>
class JsonMemory : public testing::Test {};

using Documents = testing::Types<Json, SortedJson>;
TYPED_TEST_SUITE(JsonMemory, Documents);

/// Made from values, copied, printed, parsed, changed, moved.
template <typename Document>
std::size_t use_documents() {
  Document made = {{"a", {1, 2, {{"b", 3}}}}, {"text", std::string(100, 'd')}, {"e", {{"f", {1, 2, 3}}, {"g", nullptr}}}};
  Document copy = made;
  copy["copy"] = made;
  copy["a"].push_back(made);
  const std::string text = copy.dump(2);
  Document parsed = parse_json<Document>(text, "the text");
  made = parsed["a"];
  made.erase(0);
  parsed = Document::array({1, 2, Document::object({{"q", made}})});
  for (const auto& [key, value] : copy.items()) parsed.push_back({key, value});
  return text.size() + parsed.size();
}

TYPED_TEST(JsonMemory, EveryRequestMayFail) {
  requests = 0;
  const std::size_t expected = use_documents<TypeParam>();
  const std::size_t all = requests;
  ASSERT_GT(all, 200u);
  for (std::size_t number = 1; number <= all; ++number) {
    requests = 0;
    fail_at = number;
    bool refused = false;
    try {
      EXPECT_EQ(use_documents<TypeParam>(), expected);
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    fail_at = 0;
    EXPECT_TRUE(refused) << number;
  }
}

TYPED_TEST(JsonMemory, DestroyingAsksForNone) {
  std::size_t before = 0;
  {
    const TypeParam document = parse_json<TypeParam>(R"([{"a": [1, {"b": [2, "three", {}]}]}, [[[4]]], []])", "the text");
    EXPECT_EQ(document[0]["a"][1]["b"][1], "three");
    before = requests;
  }
  EXPECT_EQ(requests, before);
}

}  // namespace
}  // namespace skipstone
