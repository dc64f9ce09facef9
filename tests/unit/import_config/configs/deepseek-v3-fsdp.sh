#!/bin/bash
# The arguments of Megatron-LM's example of DeepSeek-V3 with Megatron-FSDP, in a script of our own.
USE_MEGATRON_FSDP=${USE_MEGATRON_FSDP:-1}
SHARDING_STRATEGY=${SHARDING_STRATEGY:-"optim_grads_params"}
TP=${TP:-1}
EP=${EP:-8}
MBS=${MBS:-4}
GBS=${GBS:-2048}

PRETRAIN_ARGS=(
    --tensor-model-parallel-size ${TP} --expert-model-parallel-size ${EP}
    --expert-tensor-parallel-size 1 --context-parallel-size 1
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
    --sequence-parallel --disable-bias-linear
    --micro-batch-size ${MBS} --global-batch-size ${GBS} --train-samples 585937500
    --recompute-granularity selective --recompute-modules mlp moe mla_up_proj layernorm
    --seq-length 4096 --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432
    --num-attention-heads 128 --kv-channels 128 --position-embedding-type rope
    --make-vocab-size-divisible-by 3232 --normalization RMSNorm --swiglu
    --untie-embeddings-and-output-weights --multi-latent-attention --qk-layernorm
    --num-experts 256 --moe-layer-freq [0]*3+[1]*58 --moe-ffn-hidden-size 2048
    --moe-shared-expert-intermediate-size 2048 --moe-router-topk 8
    --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep
    --moe-router-group-topk 4 --moe-router-num-groups 8
    --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64
    --v-head-dim 128 --mtp-num-layers 1 --bf16
)
if [ "${USE_MEGATRON_FSDP}" = 1 ]; then
    PRETRAIN_ARGS=(
        "${PRETRAIN_ARGS[@]}"
        --use-megatron-fsdp
        --data-parallel-sharding-strategy ${SHARDING_STRATEGY}
    )
fi
TRAINING_CMD="
cd ${MEGATRON_PATH};
python ${MEGATRON_PATH}/pretrain_gpt.py ${PRETRAIN_ARGS[@]}"
sbatch <<END
#!/bin/bash
#SBATCH --nodes=your_own_num_nodes
#SBATCH --gres=gpu:8
srun bash -c "${TRAINING_CMD}"
END
