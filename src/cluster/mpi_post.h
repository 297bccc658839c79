// What ranks send to each other. One thread makes all calls of MPI: MPI's own waits keep a core busy, which the device's driver may need,
// and a message that nobody takes yet must not keep its sender.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace skipstone::cluster {

/// What a message is for; MPI's tag.
enum class Topic : int { stage = 1, text = 2, end = 3, beat = 4 };

struct Arrival {
  std::vector<std::byte> bytes;
  std::chrono::steady_clock::time_point at;
};

class Post {
 public:
  /// MPI is initialised. `stopped`: asked now and then whether the process is to end.
  Post(int rank, int ranks, bool (*stopped)());
  /// When all that was sent has gone.
  ~Post();
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  void send(int rank, Topic topic, std::vector<std::byte> bytes);
  /// The next one of `rank`, in order.
  Arrival take(int rank, Topic topic);
  bool has(int rank, Topic topic);
  /// Waits until there is one; false where rank 0 has ended the job instead.
  bool wait_for(int rank, Topic topic);
  /// Waits until rank 0 ends the job.
  void wait_for_end();

 private:
  using Clock = std::chrono::steady_clock;
  /// On its way, with its MPI request.
  struct Parcel {
    int rank = 0;
    Topic topic = Topic::beat;
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void run();
  bool send_some();
  bool take_some();
  void deliver(Parcel parcel);
  void beat();
  void check_beats(Clock::time_point now);
  void check_end(Clock::time_point now);
  std::deque<Arrival>& box(int rank, Topic topic) { return boxes_[static_cast<std::size_t>(topic) - 1][static_cast<std::size_t>(rank)]; }

  int rank_, ranks_;
  bool (*stopped_)();
  std::mutex mutex_;
  std::condition_variable arrived_;  ///< or the end has come
  std::condition_variable to_send_;
  std::deque<Parcel> outgoing_;
  std::array<std::vector<std::deque<Arrival>>, 3> boxes_;  ///< by topic and rank
  bool closing_ = false;
  bool ended_ = false;       ///< rank 0 has said so
  int waiting_for_end_ = 0;  ///< threads
  // Of the thread alone:
  std::list<Parcel> sending_, receiving_;
  std::vector<Clock::time_point> heard_;
  Clock::time_point next_beat_, ended_at_;
  Clock::time_point quiet_until_;  ///< after it stood still: another rank has said what there is to say
  std::jthread thread_;
};

/// Says the sentence, if this rank is to, and ends this process and the job.
[[noreturn]] void end_job(bool say, const std::string& sentence);

/// MPI's own failures.
void check_mpi(int result, const char* call);

}  // namespace skipstone::cluster
