#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/env.h"
#include "base/status.h"
#include "cluster/job.h"
#include "cluster/message_bytes.h"
#include "cluster/mpi_message_queue.h"

namespace skipstone::cluster {
namespace {

using exec::StageMessage;
using namespace std::chrono_literals;

/// Ends the process if its lifetime exceeds the limit: MPI's own waits for other ranks have no timeout.
class Deadline {
 public:
  Deadline(std::chrono::seconds limit, const char* what) {
    thread_ = std::jthread([this, limit, what] {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, limit, [&] { return over_; })) return;
      end_job(true, fmt::format("{} of the job's ranks takes more than {} s; the job ends.", what, limit.count()));
    });
  }
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::jthread thread_;
};

class MpiLink : public exec::Link {
 public:
  MpiLink(MessageQueue& post, int rank, std::chrono::microseconds delay) : Link(delay), queue_(post), rank_(rank) {}

 private:
  /// Clocks differ between machines: the transferred value is how long the message is to wait.
  void put(StageMessage message) override {
    message.not_before -= std::chrono::steady_clock::now().time_since_epoch().count();
    queue_.send(rank_, Topic::stage, to_bytes(message));
  }
  StageMessage take() override {
    const Arrival arrival = queue_.take(rank_, Topic::stage);
    StageMessage message = message_from(arrival.bytes);
    message.not_before += arrival.at.time_since_epoch().count();
    return message;
  }
  std::optional<StageMessage> try_take() override {
    if (!queue_.has(rank_, Topic::stage)) return std::nullopt;
    return take();
  }

  MessageQueue& queue_;
  int rank_;
};

class MpiJob : public Job {
 public:
  MpiJob() {
    MPI_Comm machine = MPI_COMM_NULL;
    int local_rank = 0, local_ranks = 1, rank = 0, ranks = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
    check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine), "MPI_Comm_split_type");
    check_mpi(MPI_Comm_rank(machine, &local_rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(machine, &local_ranks), "MPI_Comm_size");
    MPI_Comm_free(&machine);
    place_ = {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks), static_cast<std::uint32_t>(local_rank),
              static_cast<std::uint32_t>(local_ranks)};
    queue_.emplace(rank, ranks, &Job::stopped);
  }

  std::unique_ptr<exec::Link> link_to(std::uint32_t rank, std::chrono::microseconds delay) override {
    return std::make_unique<MpiLink>(*queue_, static_cast<int>(rank), delay);
  }
  std::unique_ptr<exec::Link> link_from(std::uint32_t rank) override { return link_to(rank, 0us); }
  bool wait_for_link(std::uint32_t rank) override { return queue_->wait_for(static_cast<int>(rank), Topic::stage); }

  std::vector<std::string> gather(std::string text) override {
    if (place_.rank > 0) {
      const auto bytes = std::as_bytes(std::span(text));
      if (bytes.size() > most_bytes) fail(Code::unsupported, "{} bytes of results are more than MPI sends at once", bytes.size());
      queue_->send(0, Topic::text, {bytes.begin(), bytes.end()});
      return {};
    }
    std::vector<std::string> all{std::move(text)};
    for (std::uint32_t rank = 1; rank < place_.ranks; ++rank) {
      const Arrival arrival = queue_->take(static_cast<int>(rank), Topic::text);
      all.emplace_back(reinterpret_cast<const char*>(arrival.bytes.data()), arrival.bytes.size());
    }
    return all;
  }

 private:
  void leave() override {
    for (std::uint32_t rank = 1; place_.rank == 0 && rank < place_.ranks; ++rank) queue_->send(static_cast<int>(rank), Topic::end, {});
    if (place_.rank > 0) queue_->wait_for_end();
    const Deadline deadline(10s, "the end");
    queue_.reset();
    MPI_Finalize();
  }

  std::optional<MessageQueue> queue_;
};

}  // namespace

std::unique_ptr<Job> join_job() {
  if (!env::get("OMPI_COMM_WORLD_SIZE") && !env::get("PMI_SIZE") && !env::get("PMIX_RANK")) return nullptr;
  {
    const Deadline deadline(60s, "the start");
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
      fail(Code::internal, "MPI does not start; see what mpirun says");
    if (provided < MPI_THREAD_SERIALIZED) fail(Code::unsupported, "this MPI is built for programs of one thread; take one with threads");
  }
  return std::make_unique<MpiJob>();
}

}  // namespace skipstone::cluster
