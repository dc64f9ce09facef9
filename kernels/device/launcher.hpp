#pragma once

// Determines the rank of this process and exchanges the communicator's id between the ranks: one
// process per GPU, started by mpirun, srun, torchrun or by hand.
//
// source                                            | rank, ranks, place in the node
// --------------------------------------------------|---------------------------------
// --rank, --ranks, --local-rank                     | as given
// OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK          | Open MPI
// PMI_RANK, PMI_SIZE, MPI_LOCALRANKID               | MPICH, Intel MPI
// SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID         | srun
// RANK, WORLD_SIZE, LOCAL_RANK                      | torchrun
// none                                              | one rank
//
// Sources are asked in this order; the first whose rank and size are both set decides. The id of a
// communicator goes from rank 0 to the others through
//   file:PATH        a file on a shared file system, written under another name and renamed
//   tcp:HOST:PORT    rank 0 listens, the others connect
//
// Errors: orrery::Error of kind io when a rank does not appear in time. Numbers that are not whole
// numbers, or a rank outside the group, are reported by `problem`.

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace orrery::kernels {

struct GroupRank {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;  // place among the processes of this node, chooses the GPU
  std::string source;  // "OMPI_COMM_WORLD_RANK", "" for one rank
};

// Value of an environment variable, nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

[[nodiscard]] Environment process_environment();

struct GivenRank {  // on the command line
  std::optional<int> rank;
  std::optional<int> ranks;
  std::optional<int> local_rank;
};

struct FoundRank {
  GroupRank group;
  std::string problem;  // one sentence, empty when all is well
};

[[nodiscard]] FoundRank group_rank(const GivenRank& given, const Environment& environment);

struct Meeting {
  enum class Kind { file, tcp };
  Kind kind = Kind::file;
  std::string place;  // path or host
  int port = 0;
};

struct ParsedMeeting {
  std::optional<Meeting> meeting;
  std::string problem;
};

// "file:/shared/id" or "tcp:node0:29500".
[[nodiscard]] ParsedMeeting parse_meeting(const std::string& text);

// Rank 0 gives `own` to all others; every rank returns rank 0's bytes. All ranks pass a span of the
// same size. `own` of the other ranks is ignored.
[[nodiscard]] std::vector<std::byte> share_bytes(const Meeting& meeting, const GroupRank& group,
                                                 std::span<const std::byte> own,
                                                 std::chrono::milliseconds patience);

// Once all ranks have the bytes (the group stands): rank 0 removes the file.
void end_meeting(const Meeting& meeting, const GroupRank& group);

}  // namespace orrery::kernels
