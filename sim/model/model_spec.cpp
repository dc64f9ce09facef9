#include "sim/model/model_spec.hpp"

#include "sim/model/shard_dims.hpp"

namespace orrery::model {

ModelSpec resolve(ModelSpec spec) {
  spec.num_query_groups = query_groups(spec);
  if (spec.num_attention_heads > 0) {
    spec.head_dim = query_head_dim(spec);
  }
  spec.ffn_hidden_size = dense_ffn(spec);
  spec.max_positions = position_rows(spec);
  return spec;
}

}  // namespace orrery::model
