#!/bin/bash
# The arguments of Megatron-LM's example for Mixtral 8x7B, in a script of our own.
NNODES=${SLURM_NNODES:-"1"}
MOE="--num-experts 8 --moe-router-topk 2 --moe-grouped-gemm
     --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce"
ARGS="
    --disable-bias-linear --seq-length 4096 --max-position-embeddings 32768
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
    --normalization RMSNorm --position-embedding-type rope --swiglu
    --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 8
    --no-position-embedding --rotary-base 1000000
    --tokenizer-type Llama2Tokenizer --tokenizer-model ${TOKENIZER_MODEL}
    --micro-batch-size 1 --global-batch-size 256 --train-iters 500000 --bf16 \
    --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 \
    --expert-model-parallel-size 8 --use-distributed-optimizer --sequence-parallel"
if [ -n "${WANDB_API_KEY}" ]; then
  ARGS+=" --wandb-project Mixtral"
fi
torchrun --nproc_per_node 8 --nnodes $NNODES pretrain_gpt.py $ARGS $MOE
