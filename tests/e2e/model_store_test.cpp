// Models of a server that leave for others, with engines on a device.
#include "serve/model_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace cli::serve {
namespace {

using namespace std::chrono_literals;
using Status = ModelStore::Status;

class Models : public testing::Test {
 protected:
  Models() {
    skipstone::fixtures::write_tiny_model({}, directory_.file("tiny.gguf"));
    std::vector<ModelFile> files;
    for (const char* name : {"ant", "bee", "cow"}) files.push_back({directory_.file("tiny.gguf"), name, {name}});
    store_ = std::make_unique<ModelStore>(
        std::move(files), [this](const ModelFile& file, const auto&) { return load(file); }, nullptr, ModelStore::Clock::duration{});
  }

  std::unique_ptr<const Model> load(const ModelFile& file) {
    if (short_of_memory_) {
      EXPECT_TRUE(store_->make_room());
    }
    skipstone_engine_params params = skipstone::engine_params();
    params.model_path = file.path.c_str();
    return std::make_unique<const Model>(skipstone::Engine(params), "", file.name);
  }

  ModelStore::Lease acquire(std::size_t model, ModelStore::Use use) {
    return store_->acquire(model, {use, ModelStore::Clock::now(), [] { return true; }});
  }

  skipstone::fixtures::TemporaryDirectory directory_;
  bool short_of_memory_ = false;  ///< each load needs the memory of another model
  std::unique_ptr<ModelStore> store_;
};

// As a cache that grows does: a generation that runs on the other model would not be waited for.
TEST_F(Models, LeaveForAThreadWithAModelOnceTheirTextsHaveEnded) {
  const auto own = acquire(0, ModelStore::Use::generation);
  {
    const auto other = acquire(1, ModelStore::Use::generation);
    EXPECT_FALSE(store_->make_room());
  }
  auto text = std::make_unique<ModelStore::Lease>(acquire(1, ModelStore::Use::text));
  auto made = std::async(std::launch::async, [this] { return store_->make_room(); });
  while (store_->state(1).status == Status::loaded) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(made.wait_for(100ms), std::future_status::timeout);
  EXPECT_FALSE(store_->if_loaded(1)) << "new requests would keep it";
  text.reset();
  EXPECT_TRUE(made.get());
  EXPECT_EQ(store_->state(1).status, Status::unloaded);
  EXPECT_EQ(store_->state(0).status, Status::loaded);
  EXPECT_FALSE(store_->make_room());
}

TEST_F(Models, AreThereUntilTheLastRequestHasEnded) {
  auto running = std::make_unique<ModelStore::Lease>(acquire(0, ModelStore::Use::generation));
  short_of_memory_ = true;
  auto loaded = std::async(std::launch::async, [this] { return static_cast<bool>(acquire(1, ModelStore::Use::generation)); });
  while (store_->state(0).status == Status::loaded) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(store_->state(0).status, Status::unloading);
  EXPECT_EQ(store_->state(1).status, Status::loading);
  EXPECT_FALSE(store_->if_loaded(0));
  auto seen = std::make_unique<ModelStore::Lease>(store_->look(0));
  ASSERT_TRUE(*seen);
  EXPECT_GT((*seen)->engine.info().device_bytes, 0u);
  running.reset();
  EXPECT_EQ(loaded.wait_for(100ms), std::future_status::timeout) << "what is looked at stays";
  seen.reset();
  EXPECT_TRUE(loaded.get());
  EXPECT_EQ(store_->state(0).status, Status::unloaded);
  EXPECT_EQ(store_->state(0).unloads, 1u);
  EXPECT_FALSE(store_->look(0));
}

// The model that is waited for is not the only one that may leave.
TEST_F(Models, LeaveAsSoonAsAnyIsIdle) {
  const auto own = acquire(0, ModelStore::Use::generation);
  const auto text = acquire(1, ModelStore::Use::text);
  auto generation = std::make_unique<ModelStore::Lease>(acquire(2, ModelStore::Use::generation));
  auto made = std::async(std::launch::async, [this] { return store_->make_room(); });
  while (store_->state(1).status == Status::loaded) std::this_thread::sleep_for(1ms);
  generation.reset();
  EXPECT_TRUE(made.get());
  EXPECT_EQ(store_->state(2).status, Status::unloaded);
  EXPECT_EQ(store_->state(1).status, Status::loaded);
  EXPECT_TRUE(store_->if_loaded(1)) << "it need not leave any more";
}

// A load waits longer for a model than caches that grow. Where these give up, it still waits.
TEST_F(Models, TakeNoRequestsWhileAnyCallWaitsForThem) {
  auto text = std::make_unique<ModelStore::Lease>(acquire(1, ModelStore::Use::text));
  std::vector<std::future<bool>> grown;
  for (int i = 0; i < 8; ++i) {
    grown.push_back(std::async(std::launch::async, [this] { return store_->make_room(); }));
    std::this_thread::sleep_for(20ms);
  }
  short_of_memory_ = true;
  auto loaded = std::async(std::launch::async, [this] { return static_cast<bool>(acquire(2, ModelStore::Use::generation)); });
  grown.front().wait_for(4s);
  std::atomic<bool> leased{false};
  {
    std::vector<std::jthread> asking;
    for (int i = 0; i < 3; ++i) {
      asking.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) leased = leased || store_->if_loaded(1);
      });
    }
    for (auto& one : grown) EXPECT_FALSE(one.get()) << "a text that does not end";
  }
  EXPECT_FALSE(leased);
  text.reset();
  EXPECT_TRUE(loaded.get());
  EXPECT_EQ(store_->state(1).status, Status::unloaded);
}

}  // namespace
}  // namespace cli::serve
